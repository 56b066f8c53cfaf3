"""Whitened Bayesian linear regression on pseudo-data: the posterior of inducing points.

With the prior z ~ N(0, I) and pseudo-outputs V = Phi z + e, where the rows of Phi are the basis
functions at the M pseudo-inputs, [M, K], and the noise e has the precision Lambda (the paper's
eq. 11 and 22, whitened),

    q(z) = N(B^-1 Phi^T Lambda V, B^-1),    B = I + Phi^T Lambda Phi.

The same Gaussian can be computed in the space of the M pseudo-outputs or in that of the K weights.
"""

from .choice import regress
from .drawn_outputs import RegressionOnDraws
from .function_space import FunctionSpaceRegression
from .units_of_noise import UnitsOfNoiseRegression
from .weight_space import WeightSpaceRegression

__all__ = [
    "FunctionSpaceRegression",
    "RegressionOnDraws",
    "UnitsOfNoiseRegression",
    "WeightSpaceRegression",
    "regress",
]
