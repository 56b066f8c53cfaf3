"""The bound with a weight on its KL term."""

from ..core.validation import positive_number
from .elbo import _OfTheBound


class TemperedBound(_OfTheBound):
    """E_q[log p(Y | f)] - T KL(q || p), which for T below 1 may exceed the log evidence.

    Its optimum is a tempered posterior, proportional to likelihood^(1/T) times prior; cold where T
    is below 1: Wenzel et al., "How good is the Bayes posterior in deep neural networks really?",
    ICML 2020, eq. 2.

    :param temperature: the weight T.
    :raises TypeError: if it is no number.
    :raises ValueError: if it is not positive or not finite.
    """

    name = "tempered bound"

    def __init__(self, temperature: float) -> None:
        self.temperature = positive_number("temperature", temperature)
