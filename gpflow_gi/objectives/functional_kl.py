"""A KL divergence between processes at measurement points, of which the gradient is estimated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, ref

import gpflow
import numpy as np
import tensorflow as tf

from ..core.callables import name_of, reason_of
from ..core.jitter import jitter_scales
from ..core.process import Process
from ..core.random import fold_in, standard_normal
from ..core.validation import (
    finite_array,
    non_negative_number,
    positive_integer,
    positive_number,
    shown,
)
from ..inference import WeightPosterior
from ..layers import Layer
from ..layers.residual import every_deterministic, every_layer
from ..layers.weights import WeightLayer
from ..models import DeepGP
from ..priors import WeightPrior
from .alpha_energy import check_has_rows
from .data_term import check_power, data_term, draws_for
from .objective import Batch, Objective, Terms
from .spectral_stein import SpectralStein

PriorDraws = Callable[[tf.Tensor, int, tf.Tensor], tf.Tensor]
"""A function of X [K, D], the number of draws R, and a seed [2] that returns f [R, K, P]."""


class FunctionalKL(Objective):
    """The objective of functional variational networks: a KL divergence of functions.

    Sun, Zhang, Shi & Grosse (2019), "Functional variational Bayesian neural networks", eq. 10 and
    11; Rodriguez Santana et al. (2022), eq. 7::

        E_q log p(Y | f) - KL(q(f(X')) || p(f(X')))

    at measurement points X', new in each step, half of them from the rows of the step and half
    uniform in the box of the training inputs. Neither density is known: the gradient of the
    divergence is E_q [(grad_f log q - grad_f log p) df], with both scores by the spectral Stein
    gradient estimator (Shi, Sun & Zhu 2018), from draws with a little noise. **It is no bound, and
    has no value**: only gradients are estimated, so that progress and record show the data term
    alone, by that name. It does not fit the prior: keep its parameters fixed.

    :param measurement_points: K, the number of points; or a function from X [B, D], the rows of the
        step, and a seed [2] to points [K, D], in TensorFlow operations.
    :param alpha: the power of the data term, at least 0; see :class:`AlphaEnergy`.
    :param num_draws: R, draws of q and of the prior in each step.
    :param noise: standard deviation of the noise on the draws, in the units of f.
    :param share: share of the sum of all eigenvalues that the used ones have.
    :param box: least and largest value of each input for the points, two of [D]; by default those
        of the training inputs. Batches of a ``tf.data.Dataset`` do not show them: give it then.
    :param prior: a process to compare with, in place of the model's prior, such as a
        :class:`gpflow_gi.implicit.KernelProcess` of a kernel that was trained before (fBNN with a
        GP prior; Rodriguez Santana et al., supplement, section 5.1). It has the columns of X as
        inputs, and the outputs of the model, in the units of f. It is copied, and not trained.
    :raises TypeError: if an argument is of the wrong type.
    :raises ValueError: if a number is invalid.
    """

    shows_elbo = False

    def __init__(
        self,
        measurement_points: int | Callable[[tf.Tensor, tf.Tensor], Any] = 20,
        *,
        alpha: float = 0.0,
        num_draws: int = 100,
        noise: float = 0.01,
        share: float = 0.99,
        box: tuple[Any, Any] | None = None,
        prior: Process | None = None,
    ) -> None:
        if not callable(measurement_points):
            measurement_points = positive_integer("measurement_points", measurement_points)
        self.measurement_points = measurement_points
        self.alpha = non_negative_number("alpha", alpha)
        self.num_draws = positive_integer("num_draws", num_draws)
        if self.num_draws == 1:
            raise ValueError("num_draws must be at least 2: one draw has no score.")
        self.noise = positive_number("noise", noise)
        self.share = positive_number("share", share)
        if self.share > 1.0:
            raise ValueError(f"share must be at most 1, but is {self.share:g}.")
        self.box = None if box is None else _checked(box)
        if prior is not None and not isinstance(prior, Process):
            raise TypeError(f"prior must be one of gpflow_gi.implicit, but is {shown(prior)}.")
        # A copy that is constant: as the objective's own, checkpoints know its values.
        self.prior = gpflow.utilities.deepcopy(prior)
        if prior is not None:
            gpflow.set_trainable(self.prior, False)
        # A function makes all points itself.
        self.needs_box = box is None and not callable(measurement_points)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"data term (alpha {self.alpha:g}) of the functional objective"

    def check(self, model: Any, num_samples: int | None) -> None:
        check_has_rows(self, model)
        if self.alpha > 0.0:
            check_power(model)
        if self.prior is None:
            prior_draws(model)
        elif self.prior.output_dim != model.output_dim:
            raise ValueError(
                f"The prior has {self.prior.output_dim} outputs, but the model has "
                f"{model.output_dim}."
            )

    def build(self, model: Any, data: Batch) -> None:
        X = model.check_inputs(data[0])
        if self.prior is None:
            _BUILT[self] = ref(model), prior_draws(model)
        else:
            self.prior.check_columns(X.shape[1])
        points = self.measurement_points
        if callable(points):
            _check_points(points, X[:2])
        elif self.box is not None and len(self.box[0]) != X.shape[1]:
            raise ValueError(
                f"box has {len(self.box[0])} columns, but the inputs have {X.shape[1]}."
            )

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        draws = draws_for(model, batch, num_samples, seed)
        first = data_term(model, batch, draws, seed, self.alpha)
        seeds = [fold_in(fold_in(seed, 3), i) for i in range(5)]
        X = self._points(model.check_inputs(batch[0]), seeds[0])
        R = self.num_draws
        q = self._noisy(model.draw_for(X, R, seeds[1], joint=True)(X, seeds[1]), R, seeds[2])
        prior = self._noisy(self._draws_of_prior(model)(X, R, seeds[3]), R, seeds[4])
        # (11): grad KL = E_q [(grad_f log q(f) - grad_f log p(f)) df]
        score = SpectralStein(q, self.share)(q) - SpectralStein(prior, self.share)(q)
        slope = tf.reduce_mean(tf.reduce_sum(score * q, axis=1))
        return first, slope - tf.stop_gradient(slope)

    def _draws_of_prior(self, model: Any) -> PriorDraws:
        if self.prior is not None:
            return draws_of(self.prior)
        if not tf.executing_eagerly() and self in _BUILT:
            built_for, draws = _BUILT[self]
            if built_for() is model:
                return draws  # a graph cannot make the variables of a copy
        return prior_draws(model)

    def _noisy(self, F: tf.Tensor, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
        """All values of a draw in a row, [R, K, P] -> [R, K P], with noise."""
        F = tf.reshape(F, [num_draws, -1])
        return F + self.noise * standard_normal(tf.shape(F), seed, F.dtype)

    def _points(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        if callable(self.measurement_points):
            return tf.cast(self.measurement_points(X, seed), X.dtype)
        assert self.box is not None, "found before build"
        B, D = X.shape
        from_rows = min(self.measurement_points // 2, B)
        order = tf.argsort(tf.random.stateless_uniform([B], fold_in(seed, 0)))
        least, most = self.box
        shape = [self.measurement_points - from_rows, D]
        u = tf.random.stateless_uniform(shape, fold_in(seed, 1), dtype=X.dtype)
        return tf.concat([tf.gather(X, order[:from_rows]), least + (most - least) * u], axis=0)


def _checked(box: Any) -> tuple[np.ndarray, np.ndarray]:
    least, most = finite_array("box", box, (2, None))
    if np.any(least > most):
        raise ValueError("box must have the least value of each input first, then the largest.")
    return least, most


def prior_draws(model: Any) -> PriorDraws:
    """Functions drawn from the present prior of a model.

    :raises TypeError: if the model is neither a posterior over weights nor a chain of layers.
    """
    if isinstance(model, WeightPosterior):
        space = model.space
        return lambda X, R, seed: space.functions(space.draw_prior(R, seed), X)
    if not isinstance(model, DeepGP):
        raise TypeError(
            "FunctionalKL needs a model whose prior can be drawn: a gpflow_gi.models.DeepGP, or a "
            f"gpflow_gi.inference.WeightPosterior; but got a {type(model).__name__}."
        )
    # A copy that shares the parameters with the model, so that they are the present ones; but not
    # those of a scale's q(s), which follows the prior in the copy alone.
    kept = (*model.parameters, *model.variables, *jitter_scales(model))
    shared: dict[int, Any] = {id(part): part for part in kept}
    shared |= {id(one.function): one.function for one in every_deterministic(model.layers)}
    for layer in every_layer(model.layers):
        if isinstance(layer, WeightLayer) and _has_posterior(layer.prior):
            for part in (*layer.prior.parameters, *layer.prior.variables):
                shared.pop(id(part), None)
    prior = gpflow.utilities.deepcopy(model, shared)
    for layer in prior.layers:
        if isinstance(layer, Layer):
            layer.follow_prior()
    prior.inducing_inputs = None
    return lambda X, R, seed: prior.draw_for(X, R, seed, joint=True)(X, seed)


_BUILT: WeakKeyDictionary[FunctionalKL, tuple[Any, PriorDraws]] = WeakKeyDictionary()
"""The model of each objective that was built, and draws of its prior.

They are no attributes, which a compiled loop compares.
"""


def _has_posterior(prior: WeightPrior) -> bool:
    """True if a prior's parameters are those of an approximate posterior of its scale."""
    return type(prior).follow_prior is not WeightPrior.follow_prior


def draws_of(process: Process) -> PriorDraws:
    """Functions drawn from a process."""
    return lambda X, R, seed: process.functions(R, seed)(X)


def _check_points(points: Callable[[tf.Tensor, tf.Tensor], Any], X: tf.Tensor) -> None:
    try:
        made = tf.convert_to_tensor(points(X, tf.constant([0, 0])))
    except Exception as error:
        raise ValueError(
            f"measurement_points={name_of(points)} failed on {X.shape[0]} rows and an int32 seed "
            f"of shape [2]. The error says: {reason_of(error)}"
        ) from None
    if made.shape.rank != 2 or made.shape[1] != X.shape[1]:
        raise ValueError(
            f"measurement_points={name_of(points)} must return points of {X.shape[1]} columns, but "
            f"returned shape {made.shape.as_list()}."
        )
