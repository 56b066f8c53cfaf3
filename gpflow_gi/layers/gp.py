"""Gaussian process layers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.functions import MeanFunction
from gpflow.kernels import Kernel, LinearCoregionalization

from ..core import linalg
from ..core.gaussians import WhitenedGaussian, integrate
from ..core.jitter import new_jitter_scale
from ..core.random import as_seed, fold_in, standard_normal
from ..core.validation import positive_integer, shown
from ..kernels import KernelBasis, empirical, features
from ..kernels import functions as kernel_functions
from ..kernels.batched import flatten_rows
from ..posteriors import ImplicitInducing, Posterior
from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction, check_posterior
from .inducing_samples import InducingSamples
from .processes import kernels_of, mixing_matrix


class GPLayer(InducingSamples, Layer):
    """P independent Gaussian processes f_p = m_p + GP(0, k_p), with an approximate posterior.

    In whitened form f(x) = m(x) + a(x)^T z + r(x) with a(x) = L^-1 k(U, x), L = chol k(U, U).
    The posterior determines U and the Gaussian over z.

    With a mixing matrix W [P, L] the outputs are correlated: f = m + W g with L independent
    processes g, the linear model of coregionalisation (Alvarez, Rosasco & Lawrence, "Kernels for
    vector-valued functions: a review", 2012, section 4.2). Kernels and posterior are those of g.

    >>> from gpflow_gi.posteriors import GlobalInducing, LocalInducing
    >>> kernel = gpflow.kernels.Matern52(lengthscales=[1.0, 2.0])
    >>> one = GPLayer(kernel, 3, GlobalInducing(num_inducing=50, output_dim=3))
    >>> other = GPLayer(kernel, 3, LocalInducing([[0.0, 0.0], [1.0, 1.0]], output_dim=3))
    """

    # Not a parameter: gpflow.set_trainable would otherwise make it trainable.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        {*Layer._TF_MODULE_IGNORED_PROPERTIES, "jitter_scale"}
    )

    def __init__(
        self,
        kernel: Kernel | Sequence[Kernel],
        output_dim: int,
        posterior: Posterior,
        *,
        mean_function: MeanFunction | None = None,
        mixing: Any = None,
    ) -> None:
        """Set the prior and the posterior.

        :param kernel: a GPflow kernel shared by all processes; or one kernel per process, as a list
            or as GPflow's SeparateIndependent. SharedIndependent is equivalent to the kernel that
            it wraps, and LinearCoregionalization to its kernels with its W as `mixing`.
        :param output_dim: P, the number of outputs.
        :param posterior: a choice of q(z), of the processes: their number is its `output_dim`.
        :param mean_function: a GPflow mean function from D inputs to P outputs (or to one, shared
            by all). Zero by default.
        :param mixing: W, [P, L], the start of a trained parameter. By default there are as many
            processes as outputs, and no matrix.
        :raises ValueError: if P is not a positive integer, if the number of kernels or the
            posterior's outputs differ from that of the processes, if W does not have P rows of
            finite numbers, or if the posterior is one over weights.
        :raises TypeError: if the kernel is none of these; if `posterior` is not a posterior; or if
            the mean function cannot be called.
        :warns UserWarning: if an empirical kernel of S draws meets S / 2 or more inducing inputs
            with implicit values: the jitter of its almost singular matrix then changes the model.
        """
        super().__init__()
        self.output_dim = positive_integer("output_dim", output_dim)
        if isinstance(kernel, LinearCoregionalization):
            if mixing is not None:
                raise ValueError(
                    "A LinearCoregionalization has a mixing matrix W; leave out mixing, or give "
                    "its kernels as a list."
                )
            mixing = kernel.W
            kernel = list(kernel.kernels)
        self.mixing = mixing_matrix(mixing, self.output_dim)
        """W, [P, L]; None if each output is a process."""
        check_posterior(posterior, self.num_processes, can_sample_outputs=mixing is None)
        if mean_function is not None and not callable(mean_function):
            raise TypeError(
                f"mean_function must be a GPflow mean function, but is {shown(mean_function)}."
            )
        posterior.bind(None, self.num_processes)
        self.posterior = posterior
        kernels_of(kernel, self.num_processes)  # raises early
        self.kernel = kernel if isinstance(kernel, Kernel) else list(kernel)
        self._warn_of_few_draws()
        self.mean_function = mean_function
        self.complete()

    def complete(self) -> None:
        """Add attributes that files of earlier versions do not have."""
        if not hasattr(self, "jitter_scale"):
            self.jitter_scale = new_jitter_scale()
            """Factor on GPflow's default jitter in this layer, []: 1, or more if training had to
            raise it."""
        if not hasattr(self, "mixing"):
            self.mixing = None

    def _warn_of_few_draws(self) -> None:
        if not isinstance(self.posterior, ImplicitInducing):
            return
        M = int(self.posterior.inducing_inputs.shape[0])
        draws = [k.num_draws for k, _ in self.kernels if isinstance(k, empirical.EmpiricalKernel)]
        if draws and min(draws) <= 2 * M:
            warnings.warn(
                f"The kernel is the covariance of {min(draws)} draws, and there are {M} inducing "
                "inputs: with so few draws its matrix is almost singular, and the jitter that it "
                f"needs changes the model. Use more than {2 * M} draws, or "
                "gpflow_gi.layers.ImplicitLayer, which needs no jitter.",
                stacklevel=3,
            )

    @property
    def num_processes(self) -> int:
        """L, the number of independent processes: P without mixing."""
        return self.output_dim if self.mixing is None else int(self.mixing.shape[1])

    @property
    def has_independent_outputs(self) -> bool:
        return self.mixing is None

    def mix(self, values: tf.Tensor) -> tf.Tensor:
        """W g, or g without mixing: [..., N, L] -> [..., N, P]."""
        return values if self.mixing is None else tf.matmul(values, self.mixing, transpose_b=True)

    @property
    def kernels(self) -> list[tuple[Kernel, slice]]:
        """The single-output kernels, each with its processes."""
        return kernels_of(self.kernel, self.num_processes)

    @property
    def has_features(self) -> bool:
        # Functions of more kernels can be drawn, for priors. Models keep to these: functions of
        # other kernels are drawn row by row, and the numbers of a seed stay.
        return all(features.has_features(kernel) for kernel, _ in self.kernels)

    def check_inputs(self, *input_shape: int) -> None:
        X = tf.zeros([1, math.prod(input_shape)], gpflow.default_float())
        for kernel, _ in self.kernels:
            _raise_if_unfit(f"kernel {type(kernel).__name__}", kernel, X)
        if self.mean_function is not None:
            _raise_if_unfit("mean function", self.mean_function, X)
            self.mean(X)

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedGPLayer:
        inputs = self.posterior.basis_inputs(U)
        drawn = {}
        if self.posterior.samples_outputs:
            u = self.posterior.sample_outputs(num_samples, as_seed(None) if seed is None else seed)
            drawn = {"drawn": u - self.mean(inputs)}
        return self._conditioned(inputs, num_samples, **drawn)

    def condition_on_rows(
        self,
        U: tf.Tensor,
        F: tf.Tensor,
        num_samples: int | None = None,
        seed: tf.Tensor | None = None,
    ) -> ConditionedGPLayer:
        inputs = self.posterior.basis_inputs(U)
        return self._conditioned(inputs, num_samples, rows=F, means=self.mean(F))

    def _conditioned(
        self, inputs: tf.Tensor, num_samples: int | None, **given: tf.Tensor
    ) -> ConditionedGPLayer:
        processes = []
        for kernel, outputs in self.kernels:
            basis = KernelBasis(kernel, inputs, jitter_scale=self.jitter_scale)
            q = self.posterior.q(basis, outputs, num_samples, **given)
            processes.append(_Process(basis, q))
        return ConditionedGPLayer(self, processes, knows_u=not self.posterior.has_own_inputs)

    def prior_values(self, X: tf.Tensor, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw from the prior: that of an empirical kernel is its process.

        See :class:`~gpflow_gi.layers.inducing_samples.InducingSamples`.
        """
        kernels = [kernel for kernel, _ in self.kernels]
        values = []
        for i, (kernel, outputs) in enumerate(self.kernels):
            P = outputs.stop - outputs.start
            own = fold_in(seed, empirical.first_of_process(kernels, i))
            draws = empirical.centred_draws(kernel, X, num_samples * P, own, self.jitter_scale)
            draws = tf.reshape(draws, [num_samples, P, draws.shape[-1]])
            values.append(tf.linalg.matrix_transpose(draws))
        return self.mean(X) + tf.concat(values, axis=-1)

    def mean(self, X: tf.Tensor) -> tf.Tensor:
        """The mean function.

        :param X: [N, D] or [S, N, D].
        :return: [N, P] or [S, N, P]; one column if all outputs share it, [] if it is zero.
        :raises ValueError: if the mean function has neither P outputs nor one output, or drops an
            axis.
        """
        if self.mean_function is None:
            return tf.zeros([], X.dtype)
        m = self.mean_function(flatten_rows(X))
        if len(m.shape) != 2:
            raise ValueError(
                f"The mean function must turn [N, {X.shape[-1]}] into [N, {self.output_dim}], but "
                f"gives shape {list(m.shape)}."
            )
        if m.shape[-1] not in (1, self.output_dim):
            raise ValueError(
                f"The mean function turns {X.shape[-1]} columns into {m.shape[-1]}, but the layer "
                f"has output_dim={self.output_dim}."
            )
        return tf.reshape(m, tf.concat([tf.shape(X)[:-1], [m.shape[-1]]], axis=0))


class ConditionedGPLayer(ConditionedLayer):
    """A GP layer, given the inducing activations from the layer below."""

    def __init__(self, layer: GPLayer, processes: list[_Process], *, knows_u: bool) -> None:
        """Keep the processes.

        :param knows_u: True if the processes' bases are at the inducing activations.
        """
        self._layer = layer
        self._processes = processes
        self._knows_u = knows_u
        self.has_independent_outputs = layer.has_independent_outputs

    def kl(self) -> tf.Tensor:
        return tf.add_n([process.q.kl() for process in self._processes])

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        tensors = []
        for process in self._processes:
            tensors += [
                ("its inducing inputs", process.basis.inputs),
                ("the Cholesky factor of its kernel matrix", process.basis.L),
                ("its posterior mean", process.q.mean),
                ("its KL divergence", process.q.kl()),
            ]
        return tensors

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        moments = [integrate(each.q, each.basis, X, full_cov) for each in self._processes]
        mean = tf.concat([mean for mean, _ in moments], axis=-1)
        variance = tf.concat([var for _, var in moments], axis=-3 if full_cov else -1)
        mean = self._layer.mean(X) + self._layer.mix(mean)
        W = self._layer.mixing
        if W is None:
            return mean, variance
        if full_cov:
            return mean, tf.einsum("pl,...lnm->...pnm", tf.square(W), variance)
        return mean, tf.matmul(variance, tf.square(W), transpose_b=True)

    def predict_outputs(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        W = self._layer.mixing
        if W is None:
            return super().predict_outputs(X)
        moments = [integrate(each.q, each.basis, X, False) for each in self._processes]
        mean, variance = (tf.concat(parts, axis=-1) for parts in zip(*moments, strict=True))
        covariance = tf.einsum("pl,...nl,ql->...npq", W, variance, W)
        return self._layer.mean(X) + self._layer.mix(mean), covariance

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> GPLayerDraw:
        draws = []
        log_ratios = []
        for i, process in enumerate(self._processes):
            draw = process.q.draw(num_samples, fold_in(seed, i))
            draws.append(_ProcessDraw(process.basis, draw.z))
            log_ratios.append(draw.log_p_minus_log_q)
        return GPLayerDraw(self._layer, draws, tf.add_n(log_ratios), knows_u=self._knows_u)


class GPLayerDraw(LayerDraw):
    """A draw of a GP layer's functions."""

    def __init__(
        self,
        layer: GPLayer,
        draws: list[_ProcessDraw],
        log_p_minus_log_q: tf.Tensor,
        *,
        knows_u: bool,
    ) -> None:
        """Keep the draws.

        :param knows_u: True if the last inputs on which the draws are conditioned are the inducing
            activations.
        """
        self._layer = layer
        self._draws = draws
        self.log_p_minus_log_q = log_p_minus_log_q
        self._knows_u = knows_u

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        values = [draw.rows(X, fold_in(seed, i)) for i, draw in enumerate(self._draws)]
        return self._layer.mean(X) + self._layer.mix(tf.concat(values, axis=-1))

    def means(self, X: tf.Tensor) -> tf.Tensor:
        values = [draw.means(X) for draw in self._draws]
        return self._layer.mean(X) + self._layer.mix(tf.concat(values, axis=-1))

    def groups(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        values = [draw.groups(X, fold_in(seed, i)) for i, draw in enumerate(self._draws)]
        return self._layer.mean(X) + self._layer.mix(tf.concat(values, axis=-1))

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, GPLayerDraw]:
        return self._extended(X, seed, knows_u=False)

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, GPLayerDraw]:
        if self._knows_u:
            return self._last_values(U), self
        return self._extended(U, seed, knows_u=True)

    def _extended(
        self, X: tf.Tensor, seed: tf.Tensor, knows_u: bool
    ) -> tuple[tf.Tensor, GPLayerDraw]:
        draws = [draw.extend(X, fold_in(seed, i)) for i, draw in enumerate(self._draws)]
        extended = GPLayerDraw(self._layer, draws, self.log_p_minus_log_q, knows_u=knows_u)
        return extended._last_values(X), extended

    def _last_values(self, X: tf.Tensor) -> tf.Tensor:
        """The values at `X`, the last inputs on which the draws are conditioned."""
        values = tf.concat([draw.basis.design_times(draw.z) for draw in self._draws], axis=-1)
        if values.shape[-2] != X.shape[-2]:
            values = values[..., : X.shape[-2], :]  # inducing inputs of the layer's own follow X
        return self._layer.mean(X) + self._layer.mix(values)

    def function(self, num_features: int, seed: tf.Tensor) -> GPLayerFunction:
        functions = [
            draw.function(num_features, fold_in(seed, i)) for i, draw in enumerate(self._draws)
        ]
        return GPLayerFunction(self._layer, functions, self.log_p_minus_log_q)


class GPLayerFunction(LayerFunction):
    """A draw of a GP layer's functions, with residuals from features."""

    def __init__(
        self, layer: GPLayer, functions: list[features.Function], log_p_minus_log_q: tf.Tensor
    ) -> None:
        """:param functions: functions f - m, one for each kernel's outputs."""
        self._layer = layer
        self._functions = functions
        self.log_p_minus_log_q = log_p_minus_log_q

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        values = [function(X) for function in self._functions]
        return self._layer.mean(X) + self._layer.mix(tf.concat(values, axis=-1))


@dataclass(frozen=True)
class _Process:
    """The processes that share one kernel, without their mean."""

    basis: KernelBasis
    q: WhitenedGaussian


class _ProcessDraw:
    """A draw of z for the processes that share one kernel."""

    def __init__(self, basis: KernelBasis, z: tf.Tensor) -> None:
        self.basis = basis
        self.z = z

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        A = self.basis(X)
        mean = linalg.transposed_product(A, self.z)
        eps = standard_normal(tf.shape(mean), seed, mean.dtype)
        return mean + tf.sqrt(self.basis.residual_variance(X, A))[..., None] * eps

    def means(self, X: tf.Tensor) -> tf.Tensor:
        rows = linalg.row_blocks(X.shape[-2], self.z.shape[-2], X, self.basis.inputs)
        blocks = [X[..., block, :] for block in rows]
        if self.basis.parent is not None:
            values = [linalg.transposed_product(self.basis(block), self.z) for block in blocks]
        else:
            # a(x)^T z = k(x, U) L^-T z, which solves for M rows and not for N
            v = self.basis.representer_weights(self.z)
            values = [linalg.transposed_product(self.basis.cross_gram(x), v) for x in blocks]
        return values[0] if len(values) == 1 else tf.concat(values, axis=-2)

    def groups(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        A = self.basis(X)
        mean = linalg.transposed_product(A, self.z)
        identity = tf.eye(tf.shape(X)[-2], dtype=X.dtype)
        # A basis without inducing inputs has none at which to take the mean variance.
        is_empty = self.basis.inputs.shape[-2] == 0
        jitter = self.basis.jitter_at(X) if is_empty else self.basis.jitter
        covariance = self.basis.residual_covariance(X, A) + jitter * identity
        eps = standard_normal(tf.shape(mean), seed, mean.dtype)
        return mean + tf.linalg.cholesky(covariance) @ eps

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> _ProcessDraw:
        basis = self.basis.extend(X)
        shape = tf.concat([tf.shape(self.z)[:-2], [tf.shape(X)[-2], tf.shape(self.z)[-1]]], axis=0)
        new = standard_normal(shape, seed, self.z.dtype)
        return _ProcessDraw(basis, linalg.concat_rows(self.z, new))

    def function(self, num_features: int, seed: tf.Tensor) -> features.Function:
        """Draw the residual by decoupled sampling (Wilson et al. 2020, section 3), whitened.

            f(x) = m(x) + g(x) + a(x)^T [z - L^-1 (g(U) + e)],    e ~ N(0, jitter)

        with g from the prior. In the basis, L z has the covariance k(U, U) + jitter: it is f(U)
        plus noise, and so the same noise is added to g(U). The residual's covariance is then k -
        a^T a.
        """
        basis, z = self.basis, self.z
        *samples, _, num_outputs = z.shape
        D = basis.inputs.shape[-1]
        g = kernel_functions.draw_function(
            basis.kernel, D, samples, num_outputs, num_features, fold_in(seed, 0)
        )
        noise = tf.sqrt(basis.jitter) * standard_normal(tf.shape(z), fold_in(seed, 1), z.dtype)
        v = basis.representer_weights(z, g(basis.inputs) + noise)
        return lambda X: g(X) + linalg.transposed_product(basis.cross_gram(X), v)


def _raise_if_unfit(name: str, function: Callable[[tf.Tensor], tf.Tensor], X: tf.Tensor) -> None:
    try:
        function(X)
    except Exception as error:
        raise ValueError(
            f"The {name} cannot take inputs of {X.shape[-1]} columns; its parameters and active "
            f"dimensions must fit them. ({error})"
        ) from None
