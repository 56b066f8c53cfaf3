"""Layers whose basis functions are draws of an implicit process."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import gpflow
import tensorflow as tf
from gpflow.functions import MeanFunction

from ..core import linalg
from ..core.gaussians import WhitenedGaussian, integrate
from ..core.process import Process
from ..core.random import as_seed, fold_in
from ..core.validation import positive_integer, shown
from ..core.weight_root import WeightRoot
from ..kernels.batched import flatten_rows
from ..kernels.empirical import EmpiricalMoments, check_draws
from ..posteriors import Posterior
from ..priors import StandardPrior
from .base import ConditionedLayer, LayerFunction, check_posterior
from .dense import DenseBasis
from .inducing_samples import InducingSamples
from .weights import WeightLayer

Moments: TypeAlias = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
"""The mean [..., N, P] and the basis functions phi [..., N, P, S] at rows [..., N, D]."""


class ImplicitLayer(InducingSamples, WeightLayer):
    """P outputs f_p(x) = m_p(x) + phi_p(x)^T z_p, z_p ~ N(0, I), from draws f_s of a process.

        m(x) = 1/S sum_s f_s(x),    phi_s(x) = (f_s(x) - m(x)) / sqrt(S)

    The prior is the Gaussian process with the draws' mean and covariance (Ma, Li &
    Hernandez-Lobato 2019; Rodriguez Santana, Zaldivar & Hernandez-Lobato 2022, eq. 6), as a linear
    model of S weights to each output. The draws have fixed random numbers, so that the process's
    parameters are trained like those of a kernel.

    The posterior is a choice of q(z): ``FullGaussian`` makes the layer a variational implicit
    process, and a chain of such layers a deep one (Ortega, Rodriguez Santana &
    Hernandez-Lobato 2023); ``GlobalInducing`` is regression on pseudo-data that came up through the
    network; ``ImplicitInducing`` makes it a sparse implicit process.

    If the process has P outputs, each output has its own mean and basis functions, which are
    dependent under the process; if it has one, all outputs share them.

    >>> from gpflow_gi.implicit import NetworkProcess
    >>> from gpflow_gi.posteriors import FullGaussian
    >>> layer = ImplicitLayer(NetworkProcess(3), 2, FullGaussian(), num_draws=15)
    >>> layer.posterior.q_mu.shape
    TensorShape([15, 2])
    """

    def __init__(
        self,
        process: Process,
        output_dim: int,
        posterior: Posterior,
        *,
        num_draws: int = 20,
        mean_function: MeanFunction | None = None,
    ) -> None:
        """Set the prior and the posterior.

        :param process: a process of :mod:`gpflow_gi.implicit`, of P outputs or of one.
        :param output_dim: P, the number of outputs.
        :param posterior: a choice of q(z).
        :param num_draws: S, the number of draws, at least 2.
        :param mean_function: a GPflow mean function from D inputs to P outputs (or to one), which
            is added to the draws' mean: the identity, for example, in a hidden layer. None by
            default.
        :raises ValueError: if P is not a positive integer, if `num_draws` is not an integer of at
            least 2, if the process has another number of outputs, or if the posterior is for
            another number of outputs or another number of weights.
        :raises TypeError: if `process` is not a process, `posterior` not a posterior, or the mean
            function cannot be called.
        """
        super().__init__()
        self.process, self.num_draws = check_draws(process, num_draws)
        self.output_dim = positive_integer("output_dim", output_dim)
        if process.output_dim not in (1, self.output_dim):
            raise ValueError(
                f"The layer has output_dim={self.output_dim}, but its process has "
                f"{process.output_dim} outputs; it must have as many, or one that all share."
            )
        check_posterior(posterior, self.output_dim, can_sample_outputs=True)
        if mean_function is not None and not callable(mean_function):
            raise TypeError(
                f"mean_function must be a GPflow mean function, but is {shown(mean_function)}."
            )
        self.mean_function = mean_function
        posterior.bind(self.num_draws, self.output_dim)
        self.posterior = posterior
        self.prior = StandardPrior()

    @property
    def input_dim(self) -> int:
        return self.process.input_dim

    @property
    def num_weights(self) -> int:
        """S, the number of weights to each output: one for each draw."""
        return self.num_draws

    def check_inputs(self, *input_shape: int) -> None:
        self.process.check_columns(math.prod(input_shape))
        added = self._added(tf.zeros([2, self.input_dim], gpflow.default_float()))
        if added.shape[-1:] not in ([], [1], [self.output_dim]):
            raise ValueError(
                f"The mean function turns {self.input_dim} columns into {added.shape[-1]}, but the "
                f"layer has output_dim={self.output_dim}."
            )

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedImplicitLayer:
        moments = self._moments()
        mean, phi = moments(self.posterior.basis_inputs(U))
        drawn = {}
        if self.posterior.samples_outputs:
            u = self.posterior.sample_outputs(num_samples, as_seed(None) if seed is None else seed)
            drawn = {"drawn": u - mean}
        units = []
        for p, outputs in enumerate(self._shared_by):
            root = WeightRoot(self.prior.scale)
            basis = DenseBasis(phi[..., p, :], root, bias=False)
            units.append((basis, self.posterior.q(basis, outputs, num_samples, **drawn)))
        return ConditionedImplicitLayer(moments, units)

    def draw_of(self, weights: tf.Tensor) -> LayerFunction:
        return ImplicitDraw(self._moments(), weights, tf.zeros([], weights.dtype))

    def prior_values(self, X: tf.Tensor, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw from the process itself.

        See :class:`~gpflow_gi.layers.inducing_samples.InducingSamples`.
        """
        return self._added(X) + values_of(self.process, X, num_samples, self.output_dim, seed)

    @property
    def _shared_by(self) -> list[slice]:
        """The outputs that share each output of the process."""
        if self.process.output_dim == 1:
            return [slice(0, self.output_dim)]
        return [slice(p, p + 1) for p in range(self.output_dim)]

    def _moments(self) -> Moments:
        moments = EmpiricalMoments(self.process.functions(self.num_draws, self.process.own_seed))

        def with_mean_function(X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            m, phi = moments(X)
            return self._added(X) + m, phi

        return with_mean_function

    def _added(self, X: tf.Tensor) -> tf.Tensor:
        """The mean function, [..., P] or [..., 1] for X of [..., D]; [] if there is none."""
        if self.mean_function is None:
            return tf.zeros([], X.dtype)
        added = self.mean_function(flatten_rows(X))
        return tf.reshape(added, tf.concat([tf.shape(X)[:-1], [added.shape[-1]]], axis=0))


class ConditionedImplicitLayer(ConditionedLayer):
    """An implicit layer, given the inducing activations from the layer below."""

    def __init__(self, moments: Moments, units: list[tuple[DenseBasis, WhitenedGaussian]]) -> None:
        """Keep the process's draws, and the basis at U and q(z) for each of its outputs."""
        self._moments = moments
        self._units = units

    def kl(self) -> tf.Tensor:
        return tf.add_n([q.kl() for _, q in self._units])

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        m, phi = self._moments(X)
        parts = [
            integrate(q, basis, phi[..., p, :], full_cov)
            for p, (basis, q) in enumerate(self._units)
        ]
        mean = tf.concat([mean for mean, _ in parts], axis=-1)
        variance = tf.concat([variance for _, variance in parts], axis=-3 if full_cov else -1)
        return m + mean, variance

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        tensors = []
        for basis, q in self._units:
            tensors += [
                ("the draws of its process at its inducing inputs", basis.inputs),
                ("its posterior mean", q.mean),
                ("its KL divergence", q.kl()),
            ]
        return tensors

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> ImplicitDraw:
        draws = [q.draw(num_samples, fold_in(seed, p)) for p, (_, q) in enumerate(self._units)]
        weights = [
            basis.root.times(draw.z) for (basis, _), draw in zip(self._units, draws, strict=True)
        ]
        log_ratio = tf.add_n([draw.log_p_minus_log_q for draw in draws])
        return ImplicitDraw(self._moments, tf.concat(weights, axis=-1), log_ratio)


class ImplicitDraw(LayerFunction):
    """The function m(x) + phi(x)^T w of drawn weights."""

    def __init__(self, moments: Moments, w: tf.Tensor, log_p_minus_log_q: tf.Tensor) -> None:
        """Keep the weights.

        :param w: [K, P] or [S, K, P], with K draws of the process.
        :param log_p_minus_log_q: [] or [S].
        """
        self._moments = moments
        self._w = w
        self.log_p_minus_log_q = log_p_minus_log_q

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        m, phi = self._moments(X)
        if phi.shape[-2] == 1:
            return m + linalg.product(phi[..., 0, :], self._w)
        return m + tf.einsum("...npk,...kp->...np", phi, self._w)


def values_of(
    process: Process, X: tf.Tensor, num_samples: int, output_dim: int, seed: tf.Tensor
) -> tf.Tensor:
    """New draws of a process, [S, N, P]; outputs that share its only output are independent.

    :param X: [N, D].
    :param num_samples: the number of samples, S.
    :param output_dim: P, the number of outputs.
    :param seed: [2].
    """
    if process.output_dim == output_dim:
        return process.functions(num_samples, seed)(X)
    values = process.functions(num_samples * output_dim, seed)(X)[..., 0]
    values = tf.reshape(values, [num_samples, output_dim, -1])
    return tf.linalg.matrix_transpose(values)
