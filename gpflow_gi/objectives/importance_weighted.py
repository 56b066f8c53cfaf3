"""The importance weighted bound of a model with latent variables."""

from typing import Any

import tensorflow as tf

from ..core.validation import positive_integer
from .objective import Batch, Objective, Terms
from .weighted import refuse_optimal, weights_of_rows


class ImportanceWeighted(Objective):
    """The bound sum_n E log 1/K sum_k w_nk - KL(q || p) of a model with latent variables.

    It is a lower bound on log p(Y) that rises with K, from the ELBO at K = 1 (Salimbeni,
    Dutordoir, Hensman & Deisenroth, ICML 2019). The gradient with respect to the posteriors of the
    latent variables is doubly reparameterised (Tucker, Lawson, Gu & Maddison, ICLR 2019), so more
    samples do not make it noisier. A step takes K times the work of one with the ELBO.

    :param num_samples: K, the samples of each row's latent variables.
    :param weights: [N], of the rows' terms in the sum, as those of :class:`WeightedBound`; None for
        equal weights of 1.
    :raises ValueError: if `num_samples` is not a positive integer, or if `weights` are not finite,
        at least 0 and not all 0.
    """

    name = "importance weighted bound"

    def __init__(self, num_samples: int, weights: Any = None) -> None:
        self.num_samples = positive_integer("num_samples", num_samples)
        if weights is not None:
            self.weights = weights_of_rows(weights)
            # It bounds the evidence of the rows only where their weights are 1.
            self.name = "importance weighted bound of weighted rows"
            self.shows_elbo = False

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        X, Y, *weights = batch
        terms: Terms = model.importance_weighted_terms(
            (X, Y),
            self.num_samples,
            num_samples=num_samples,
            seed=seed,
            weights=weights[0] if weights else None,
        )
        return terms

    def check(self, model: Any, num_samples: int | None) -> None:
        if self.weights is not None:
            refuse_optimal(self, model)
        if not getattr(model, "latents", None):
            raise TypeError(
                "The importance weighted bound is a sum over rows, and needs a model with latent "
                f"variables, but the {type(model).__name__} has none. Put a "
                "gpflow_gi.layers.LatentVariableLayer among its layers, or train it with the ELBO."
            )
