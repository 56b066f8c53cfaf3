"""The next experiment: acquisition functions of any model's predictions, to be maximised over X.

A prediction is a mixture of S Gaussians, one for each draw of the layers below the last, and each
function here is that of the mixture. All search for the minimum of f, with ``maximise=True`` for
its maximum. They are TensorFlow functions of X, so that gradients pass.
"""

from .contour import contour_improvement
from .improvement import expected_improvement, upper_confidence_bound
from .max_value import max_value_entropy, sample_optima
from .search import search, thompson_batch
from .variance import integrated_variance_reduction, predictive_variance

__all__ = [
    "contour_improvement",
    "expected_improvement",
    "integrated_variance_reduction",
    "max_value_entropy",
    "predictive_variance",
    "sample_optima",
    "search",
    "thompson_batch",
    "upper_confidence_bound",
]
