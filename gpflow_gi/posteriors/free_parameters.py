"""Parameters of free Gaussians over z."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpflow.base import Parameter
from gpflow.utilities import triangular

from ..core.validation import finite_array


def free_parameters(K: int, P: int, q_mu: Any, q_sqrt: Any) -> tuple[Parameter, Parameter]:
    """The means [K, P] and lower triangular roots [P, K, K] of a free Gaussian over z.

    :param K: the number of coordinates.
    :param P: the number of outputs.
    :param q_mu: the means at the start; None for zero.
    :param q_sqrt: the roots at the start; None for the identity.
    :raises ValueError: if one is not finite or of another shape, or not lower triangular.
    """
    q_mu = np.zeros((K, P)) if q_mu is None else q_mu
    q_sqrt = np.tile(np.eye(K), (P, 1, 1)) if q_sqrt is None else q_sqrt
    q_mu, q_sqrt = finite_array("q_mu", q_mu, (K, P)), finite_array("q_sqrt", q_sqrt, (P, K, K))
    if np.any(np.triu(q_sqrt, 1)):
        raise ValueError("q_sqrt must be lower triangular, but has entries above the diagonal.")
    return Parameter(q_mu), Parameter(q_sqrt, transform=triangular())
