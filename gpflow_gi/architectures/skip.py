"""Mean functions of hidden layers: the inputs, or a linear map of them, pass beside the layer."""

import gpflow
import numpy as np
from gpflow.functions import MeanFunction


def linear_map(F: np.ndarray, width: int) -> np.ndarray:
    """A map from D to `width` columns: principal components, or padding with zeros, [D, width]."""
    W = np.eye(F.shape[1], width, dtype=F.dtype)
    if width < F.shape[1]:
        _, _, components = np.linalg.svd(F - F.mean(0), full_matrices=False)
        # Fewer rows than `width` give fewer components; the others stay zero.
        W = np.zeros_like(W)
        W[:, : len(components)] = components[:width].T
    return W


def mean_function_of(W: np.ndarray) -> MeanFunction:
    """The map W as a mean function that is not trained."""
    if W.shape[0] == W.shape[1]:
        return gpflow.functions.Identity()
    mean_function = gpflow.functions.Linear(W, np.zeros(W.shape[1], W.dtype))
    gpflow.set_trainable(mean_function, False)
    return mean_function
