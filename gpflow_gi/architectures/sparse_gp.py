"""A sparse Gaussian process from data and a few words."""

from typing import Any, cast

import gpflow

from ..layers import GPLayer
from ..models import DeepGP
from ..posteriors import LocalInducing
from .deep_gp import build_deep_gp


def build_sparse_gp(X: Any, Y: Any, num_inducing: int = 100, *, seed: int = 0) -> Any:
    """GPflow's SVGP with a squared exponential kernel, one lengthscale per input.

    Hensman, Fusi & Lawrence, "Gaussian processes for big data", UAI 2013, with u = L z whitened.
    It starts where the last layer of a deep GP starts, for a fair comparison of the two. Columns of
    X and Y should be standardised.

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param num_inducing: M; at most the number of different rows of `X`.
    :param seed: for k-means, an integer from 0 to 2^32 - 1.
    :return: a :class:`gpflow.models.SVGP` with a Gaussian likelihood.
    :raises ValueError: as :func:`build_deep_gp`.
    :warns UserWarning: as :func:`build_deep_gp`.
    """
    start = build_deep_gp(
        X, Y, num_layers=1, inference="local", num_inducing=num_inducing, seed=seed
    )
    (layer,) = start.layers
    posterior = cast(LocalInducing, layer.posterior)
    return gpflow.models.SVGP(
        layer.kernel,
        start.likelihood,
        posterior.inducing_inputs.numpy(),
        q_mu=posterior.q_mu.numpy(),
        q_sqrt=posterior.q_sqrt.numpy(),
        num_data=start.num_data,
        num_latent_gps=layer.output_dim,
    )


def sparse_gp_as_deep_gp(model: Any) -> DeepGP:
    """A model of one layer with the parameters of :func:`build_sparse_gp`'s.

    Both predict the same, up to the jitter of the kernel's matrix; this one can be saved.

    :param model: a :class:`gpflow.models.SVGP`, whitened, with a full `q_sqrt`.
    :return: a model that shares kernel and likelihood with it.
    """
    P = int(model.num_latent_gps)
    Z = model.inducing_variable.Z.numpy()
    posterior = LocalInducing(Z, P, q_mu=model.q_mu.numpy(), q_sqrt=model.q_sqrt.numpy())
    return DeepGP([GPLayer(model.kernel, P, posterior)], model.likelihood, num_data=model.num_data)
