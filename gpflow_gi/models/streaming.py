"""Data that arrive in parts: an earlier posterior as a summary of the rows that it was trained on.

A posterior from global inducing points is the prior times pseudo-observations, layer by layer:

    q_old / p_old = prod_l N(V_l | f_l(U_l-1) - m_l, Lambda_l^-1) / Z_l(U_l-1)
    L_new = E_q log p(Y_new | f) + E_q log(q_old / p_old) - KL(q || p)  <=  log p(Y_new | Y_old)

if q_old is exact (Bui, Nguyen & Turner, "Streaming sparse Gaussian process approximations",
NeurIPS 2017, for one layer). The pseudo-observations stand for the earlier rows, which are no
longer needed.
"""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter

from ..core.random import fold_in
from ..kernels import KernelBasis
from ..layers import Deterministic, GPLayer, LayerDraw
from ..posteriors import GlobalInducing


def check_can_update(model: Any) -> None:
    """Check that a model's posterior is the prior times pseudo-observations.

    :raises ValueError: if it is not; the message names the layer.
    """
    for i, layer in enumerate(model.layers, start=1):
        if isinstance(layer, Deterministic):
            continue
        if not isinstance(layer, GPLayer) or not isinstance(layer.posterior, GlobalInducing):
            raise ValueError(
                "update needs Gaussian process layers with GlobalInducing posteriors, but layer "
                f"{i} is a {type(layer).__name__} with {type(layer.posterior).__name__}."
            )
        if layer.mixing is not None:
            raise ValueError(f"update needs layers without mixing, but layer {i} has it.")
        if layer.posterior.num_own:
            raise ValueError(
                "update needs layers without inducing inputs of their own, but layer "
                f"{i} has {layer.posterior.num_own}. Build the model with own_share=0."
            )
        if not layer.posterior.shared:
            raise ValueError(
                "update needs one precision for all outputs of a layer, but layer "
                f"{i} has one for each. Build the model with shared_precision=True."
            )
        if layer.posterior.whiten:
            raise ValueError(
                "update needs pseudo-outputs that are not whitened, but those of layer "
                f"{i} are. Build the model with whiten=False."
            )


class Memory(gpflow.Module):
    """The pseudo-observations of an earlier posterior, none of them trained."""

    def __init__(self, model: Any) -> None:
        """Copy the model's layers.

        :param model: a :class:`gpflow_gi.models.DeepGP` that can be updated.
        """
        super().__init__()
        copy = gpflow.utilities.deepcopy(model)
        self.layers = copy.layers
        self.inducing_inputs = copy.inducing_inputs
        gpflow.set_trainable(self, False)

    def expected_log_ratio(self, model: Any, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """E_q log(q_old / p_old), a mean over samples of the layers below the last: [], in nats.

        :param model: the model whose q it is.
        :param num_samples: S, the number of samples.
        :param seed: [2].
        """
        F = _as_rows(self.inducing_inputs)
        now = model.propagate(F, num_samples, fold_in(seed, 0), draw_all=True)
        total = tf.zeros([], F.dtype)
        for i, (layer, old) in enumerate(zip([*now.hidden, now.last], self.layers, strict=True)):
            if isinstance(layer, Deterministic):
                F = layer(F)
            elif isinstance(layer, LayerDraw):
                f, _ = layer.extend(F, fold_in(seed, 1 + i))
                total += tf.reduce_mean(_log_ratio(old, F, f, None))
                F = f
            else:
                total += tf.reduce_mean(_log_ratio(old, F, *layer.predict(F, full_cov=True)))
        return total


def memory_term(model: Any, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor | float:
    """The term of a bound for the rows before an update, in nats; 0 if there was none.

    :param model: any model.
    :param num_samples: S; None for the model's own number.
    :param seed: [2], that of the bound.
    :return: [], or 0.
    """
    memory: Memory | None = getattr(model, "memory", None)
    if memory is None:
        return 0.0
    S = model.num_samples if num_samples is None else num_samples
    return memory.expected_log_ratio(model, S, fold_in(seed, 3))


def _as_rows(U: tf.Tensor) -> tf.Tensor:
    """Inducing inputs [M, D]; images are rows of a model's data, too."""
    U = tf.convert_to_tensor(U)
    return tf.reshape(U, [U.shape[0], -1])


def _log_ratio(
    old: GPLayer, F: tf.Tensor, mean: tf.Tensor, covariance: tf.Tensor | None
) -> tf.Tensor:
    """E log N(V | f - m, Lambda^-1) / Z for f ~ N(mean, covariance), summed over outputs.

    With Lambda = T T^T and B = I + T^T K T, Z = N(V | 0, K + Lambda^-1), and per output

        1/2 [ log|B| + |chol(B)^-1 T^T v|^2 - |T^T (v + m - f)|^2 - tr T^T cov T ]

    :param F: the inputs of the layer, [M, D] or [S, M, D].
    :param mean: [M, P] or [S, M, P].
    :param covariance: [P, M, M] or [S, P, M, M]; None for zero.
    :return: [] or [S].
    """
    T, V = old.posterior.root_of_precision, tf.convert_to_tensor(old.posterior.pseudo_outputs)
    total = -tf.reduce_sum(tf.square(_transposed(T, V + old.mean(F) - mean)), axis=[-2, -1])
    if covariance is not None:
        total -= tf.einsum("mk,...pmn,nk->...", T, covariance, T)
    for kernel, outputs in old.kernels:
        K = KernelBasis(kernel, F, jitter_scale=old.jitter_scale).gram
        B = tf.eye(tf.shape(T)[0], dtype=T.dtype) + _transposed(T, tf.matmul(K, T))
        L = tf.linalg.cholesky(B)
        v = tf.linalg.triangular_solve(L, _transposed(T, V[:, outputs]) + tf.zeros_like(L[..., :1]))
        P = tf.cast(outputs.stop - outputs.start, T.dtype)
        total += 2.0 * P * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)), axis=-1)
        total += tf.reduce_sum(tf.square(v), axis=[-2, -1])
    return 0.5 * total


def _transposed(T: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """T^T values: [M, M] and [..., M, P] to [..., M, P]."""
    return tf.einsum("mk,...mp->...kp", T, values)


def add_inducing_points(model: Any, new: np.ndarray) -> None:
    """Append inducing inputs, with pseudo-outputs at the present mean and a small precision.

    :param model: changed in place.
    :param new: [M', D]; of images, their rows.
    """
    U = model.inducing_inputs.numpy()
    F, G = _as_rows(U), tf.constant(new)
    for layer in model.layers:
        if isinstance(layer, Deterministic):
            F, G = layer(F), layer(G)
            continue
        q = layer.condition(F)
        below, (mean, variance) = q.predict(F)[0], q.predict(G)
        posterior = layer.posterior
        V = np.vstack([posterior.pseudo_outputs.numpy(), (mean - layer.mean(G)).numpy()])
        weak = np.full(len(new), 1.0 / np.max(variance.numpy().mean(0) + 1e-6))
        old = posterior.pseudo_precision.numpy()
        if posterior.precision == "full":
            Lambda = np.zeros((len(V), len(V)))
            Lambda[: len(U), : len(U)] = old
            Lambda[len(U) :, len(U) :] = np.diag(weak)
        else:
            Lambda = np.concatenate([old, weak])
        layer.posterior = GlobalInducing(
            len(V),
            layer.output_dim,
            pseudo_outputs=V,
            pseudo_precision=Lambda,
            precision=posterior.precision,
        )
        for name in ("pseudo_outputs", "pseudo_precision"):
            _set_as(getattr(layer.posterior, name), getattr(posterior, name), name)
        F, G = below, mean
    old_inputs = model.inducing_inputs
    model.inducing_inputs = Parameter(np.concatenate([U, new.reshape(-1, *U.shape[1:])]))
    _set_as(model.inducing_inputs, old_inputs, "inducing_inputs")


def _set_as(new: Parameter, old: Parameter, name: str) -> None:
    """Give a parameter the prior of another, and train it if that is trained.

    :raises ValueError: if the prior is for another number of inducing points.
    """
    gpflow.set_trainable(new, old.trainable)
    if old.prior is None:
        return
    new.prior, new.prior_on = old.prior, old.prior_on
    try:
        new.log_prior_density()
    except (ValueError, tf.errors.InvalidArgumentError):
        raise ValueError(
            f"The prior of {name} has a shape of its own, {old.prior.batch_shape}, which does not "
            f"fit {new.shape} with more inducing points. Give it a prior of one number."
        ) from None
