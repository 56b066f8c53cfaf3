"""The bound with a weight on its KL term."""

from ..core.validation import positive_number
from .elbo import _OfTheBound


class TemperedBound(_OfTheBound):
    """The objective E_q[log p(Y | f)] - T KL(q || p); for T < 1 it may exceed the log evidence.

    Its optimum is a tempered posterior, proportional to likelihood^(1/T) times prior, and called
    cold if T < 1: Wenzel et al., "How good is the Bayes posterior in deep neural networks really?",
    ICML 2020, eq. 2. A last layer with the posterior Optimal, which is the best one at T = 1, is
    refused at other temperatures.

    :param temperature: the weight T.
    :raises TypeError: if it is not a number.
    :raises ValueError: if it is not positive or not finite.
    """

    name = "tempered bound"

    def __init__(self, temperature: float) -> None:
        self.temperature = positive_number("temperature", temperature)
