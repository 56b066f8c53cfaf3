"""Markov chains over the inducing outputs of deep Gaussian processes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from numpy.typing import NDArray

from ..core.adam import Adam
from ..core.gaussians import FreeGaussian
from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import (
    integer,
    non_negative_number,
    positive_integer,
    positive_number,
    shown,
)
from ..layers import GPLayer
from ..models import DeepGP
from ..models.integration import log_expected_power, variational_expectations
from ..posteriors import LocalInducing, RecordedInducing
from .log_joint import check_all_rows
from .sghmc import check_friction

LARGEST_STEP = 0.003
"""The default step size: about twenty steps for a period, with little error of the leaps."""

NUM_TRIES = 3
"""Number of step sizes that are tried by default, each a quarter of the one before."""

LEAST_ROWS = 1000
"""The least number of rows, of those there are, by which chains are told to diverge."""

State = Sequence[tf.Tensor]
"""One tensor [C, M, P] for each layer: its whitened inducing outputs in C chains."""


@dataclass(frozen=True, eq=False)
class InducingChains:
    """Draws of the inducing outputs of a deep Gaussian process."""

    model: DeepGP
    """The draws as posteriors of the layers, with the learned hyperparameters; it has no density
    and no bound."""

    values: tuple[NDArray[np.floating], ...]
    """The whitened draws of each layer, [C, T, M, P] for C chains."""

    seconds: float
    """The time taken in seconds, compilation included."""


def sghmc_inducing(
    model: DeepGP,
    data: tuple[Any, Any],
    *,
    num_draws: int = 100,
    num_chains: int = 1,
    burn_in: int = 5_000,
    steps: int = 5_000,
    batch_size: int | None = None,
    step_size: float | None = None,
    friction: float = 0.1,
    learning_rate: float = 0.01,
    window: int = 100,
    alpha: float = 0.0,
    seed: Seed = 0,
) -> InducingChains:
    """Draw the inducing outputs of all layers by stochastic gradient Hamiltonian Monte Carlo.

    Havasi, Hernandez-Lobato & Murillo-Fuentes (2018), with velocities as in :func:`sghmc`. The
    draws are of the density, in the whitened outputs v = (v_1, ..., v_L) of all layers together::

        q(v)  proportional to  p(v) exp( E_{p(F | v)} sum_n E_{p(f_n | F)} log p(y_n | f_n) )

    whose gradient has an unbiased estimate from one draw of the layers below the last, F. It is
    the q(v) with the largest doubly stochastic bound (Salimbeni & Deisenroth 2017) of all
    densities, not only of Gaussians that are independent over layers; with one layer and Gaussian
    noise it is that of Titsias (2009).

    With `alpha` above 0 the term of a row is 1/alpha log E_{p(f_n | F)} p(y_n | f_n)^alpha, of
    which the above is the limit alpha -> 0. Variance that the inducing outputs leave open, given
    F, then counts as noise of the row. With one layer and Gaussian noise the density is the
    posterior of power EP (Bui, Yan & Turner 2017), and that of FITC (Snelson & Ghahramani 2006)
    with alpha = 1, which the paper's own program has. The noise may then fall far below that of
    the start, whose covariance is the metric: check that half the step size predicts alike.

    In the burn-in, hyperparameters and inducing inputs follow the gradient of the same density at a
    random one of the last states (the paper's moving window Monte Carlo EM), and of GPflow's priors
    on them; then they are kept, and draws are taken evenly from the steps.

    The model's own q(v) is the start, and its covariance R R^T the metric, so that directions of
    all scales mix alike: r <- (1 - friction) r + eta R R^T g + sqrt(2 friction eta) R eps and
    v <- v + r. A bound that was trained first shortens the burn-in and does not change what is
    drawn. No proposal is rejected: draws are biased by an amount that vanishes with the step size.
    The noise of minibatches adds about eta N / (2 friction B) to the variance, as a share.

    :param model: a DeepGP of :class:`~gpflow_gi.layers.GPLayer` with
        :class:`~gpflow_gi.posteriors.LocalInducing`, such as ``build_deep_gp(...,
        inference="local")`` returns. It is not changed.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param num_draws: T, the draws of each chain.
    :param num_chains: C, chains from as many draws of q(v), side by side. They share the
        hyperparameters.
    :param burn_in: number of steps in which hyperparameters are learned; 0 for none.
    :param steps: number of steps after that.
    :param batch_size: B, rows of each step; None for all.
    :param step_size: eta, in units of the covariance of the start; by default 0.003, or less for
        minibatches, whose noise then adds about a twentieth. If the chains diverge, the default
        becomes a quarter of it, up to twice, with a warning.
    :param friction: in (0, 1].
    :param learning_rate: learning rate of Adam for the hyperparameters; 0 to keep them.
    :param window: the number of states, of which one is chosen for each step of Adam.
    :param alpha: the power of the likelihood, at least 0.
    :param seed: seed of the starts, the minibatches and the noise.
    :return: the draws, and a model for predictions.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: if a layer is another one; if `alpha` is above 0 and the last layer has a
        mixing matrix; if the data are not all rows, or do not fit; if a number is not positive, or
        `friction` above 1; if there are fewer steps than draws; or if the chains diverge: if
        after the burn-in, or at the end, an estimate of a chain's log density is not finite, or is
        below that of the start by 0.2 for each row plus 2 for each inducing output.
    """
    started = time.perf_counter()
    T, C = positive_integer("num_draws", num_draws), positive_integer("num_chains", num_chains)
    burn_in, steps = integer("burn_in", burn_in, least=0), positive_integer("steps", steps)
    window = positive_integer("window", window)
    if batch_size is not None:
        batch_size = positive_integer("batch_size", batch_size)
    friction = check_friction(friction)
    if step_size is not None:
        step_size = positive_number("step_size", step_size)
    learning_rate = non_negative_number("learning_rate", learning_rate)
    alpha = non_negative_number("alpha", alpha)
    if steps < T:
        raise ValueError(f"num_draws is {T}, but there are {steps} steps. Take more steps.")
    posteriors = _posteriors_of(model)
    if alpha > 0.0 and model.has_correlated_outputs:
        raise ValueError(
            "A power of the likelihood, alpha above 0, needs a last layer whose outputs are "
            "independent. Give the mixing matrix to the layer below, or take alpha=0."
        )
    X, Y = check_all_rows(model, data)
    seed = as_seed(seed)
    roots = [tf.convert_to_tensor(posterior.q_sqrt) for posterior in posteriors]
    state = [
        FreeGaussian(posterior.q_mu, root).draw(C, fold_in(seed, i)).z
        for i, (posterior, root) in enumerate(zip(posteriors, roots, strict=True))
    ]
    if step_size is None:
        largest = default_step_size(len(X), batch_size, friction)
        sizes = [largest / 4**i for i in range(NUM_TRIES)]
    else:
        sizes = [step_size]
    for eta in sizes:
        density = _Density(model, state, X, Y, batch_size, alpha)
        chains = _Chains(density, state, roots, eta, friction, fold_in(seed, len(state)))
        check = _Check(density, state, fold_in(seed, len(state) + 1))
        if learning_rate:
            chains.learn(burn_in, window, learning_rate)
        else:
            chains.move(burn_in)
        if not check.has_fallen(chains.state):
            draws = [chains.move(int(n)) for n in np.diff(np.arange(T + 1) * steps // T)]
            if not check.has_fallen(chains.state):
                break
        if eta != sizes[-1]:
            warnings.warn(
                f"The chains diverge with a step_size of {eta:.2g}, and start again with a quarter "
                "of it.",
                stacklevel=2,
            )
    else:
        raise ValueError(
            f"The chains diverge with a step_size of {eta:.2g}: give a lower step_size or "
            "learning_rate, or a larger batch_size."
        )
    values = tuple(np.stack(parts, axis=1) for parts in zip(*draws, strict=True))
    found = _with_draws(density.model, [part.reshape(C * T, *part.shape[2:]) for part in values])
    return InducingChains(found, values, time.perf_counter() - started)


def default_step_size(num_data: int, batch_size: int | None, friction: float) -> float:
    """Return the step size that :func:`sghmc_inducing` tries first.

    :param num_data: N, the number of all rows.
    :param batch_size: B, rows of each step; None for all.
    :param friction: in (0, 1].
    """
    share = min(batch_size or num_data, num_data) / num_data
    return LARGEST_STEP if share == 1.0 else min(LARGEST_STEP, 0.1 * friction * share)


class _Density:
    """log q(v) and its gradients, at the states of C chains; up to a constant."""

    def __init__(
        self,
        model: DeepGP,
        state: State,
        X: tf.Tensor,
        Y: tf.Tensor,
        batch_size: int | None,
        alpha: float,
    ) -> None:
        self.model = _with_draws(model, state)
        self._values = [layer.posterior.values for layer in self.model.layers]
        self._num_chains = int(state[0].shape[0])
        self._data = X, Y
        self.num_data = int(X.shape[0])
        self._batch_size = batch_size
        self._alpha = alpha

    def gradients(
        self, state: State, variables: Sequence[tf.Variable] | None, seed: tf.Tensor
    ) -> list[tf.Tensor]:
        """Estimate the gradients of the sum over chains.

        :param state: the inducing outputs v of the chains.
        :param variables: variables to take the gradient of; None for v.
        :param seed: [2], of the rows and of the layers below the last.
        """
        self._assign(state)
        learned = variables is not None
        if variables is None:
            variables = [values.unconstrained_variable for values in self._values]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            log_density = tf.reduce_sum(self._of_chains(seed))
            if learned:
                log_density += self._num_chains * self.model.log_prior_density()
        zero = tf.UnconnectedGradients.ZERO
        return list(tape.gradient(log_density, variables, unconnected_gradients=zero))

    def of_chains(self, state: State, seed: tf.Tensor) -> tf.Tensor:
        """Estimate log q(v) of each chain, with the priors on the hyperparameters, [C].

        :param state: the inducing outputs v of the chains.
        :param seed: [2], of the rows and of the layers below the last.
        """
        self._assign(state)
        return self._of_chains(seed, LEAST_ROWS) + self.model.log_prior_density()

    def _assign(self, state: State) -> None:
        for values, v in zip(self._values, state, strict=True):
            values.unconstrained_variable.assign(v)  # without a check, which raises in a graph

    def _of_chains(self, seed: tf.Tensor, least_rows: int = 1) -> tf.Tensor:
        log_density = self._data_term(seed, least_rows)
        for values in self._values:
            log_density -= 0.5 * tf.reduce_sum(tf.square(values), axis=[1, 2])  # log p(v)
        return log_density

    def _data_term(self, seed: tf.Tensor, least_rows: int) -> tf.Tensor:
        """N/B sum_n 1/alpha log E p(y_n | f_n)^alpha given the layers below, for each chain."""
        X, Y = self._data
        N = self.num_data
        B = max(self._batch_size or N, least_rows)
        if B < N:
            rows = tf.random.stateless_uniform([B], fold_in(seed, 0), maxval=N, dtype=tf.int32)
            X, Y = tf.gather(X, rows), tf.gather(Y, rows)
        draws = self.model.draw_for(X, self._num_chains, fold_in(seed, 1))
        mean, variance = draws.moments(X, fold_in(seed, 2))
        of_rows = self.model.likelihood, X, mean, variance, Y, fold_in(seed, 3)
        missing = self.model.missing == "ignore"
        if self._alpha == 0.0:
            per_row = variational_expectations(*of_rows, missing=missing)  # [C, B]
        else:
            log_power = log_expected_power(*of_rows, self._alpha, missing=missing)
            per_row = log_power / self._alpha
        return (N / min(B, N)) * tf.reduce_sum(per_row, axis=-1)


class _Check:
    """Tell chains that diverge from others by log q(v), which few draws have far below the start.

    They may be finite: where a hidden layer is thrown far from all inducing points, the last layer
    is that of the prior, no gradient of the data leads back, and the chains stay for long.
    """

    def __init__(self, density: _Density, start: State, seed: tf.Tensor) -> None:
        self._density = density
        self._seed = seed
        self._first = density.of_chains(start, seed)
        # Draws of twice the right variance have a log q that is lower by half of their number.
        num_outputs = sum(int(np.prod(v.shape[1:])) for v in start)
        self._most = 0.2 * density.num_data + 2.0 * num_outputs

    def has_fallen(self, state: State) -> bool:
        """True if log q of a chain is not finite, or fell by 0.2 a row plus 2 an output."""
        last = self._density.of_chains(state, self._seed)
        return not bool(np.all(np.isfinite(last)) and np.all(self._first - last < self._most))


class _Chains:
    """C chains side by side, with velocities."""

    def __init__(
        self,
        density: _Density,
        state: State,
        roots: Sequence[tf.Tensor],
        eta: float,
        friction: float,
        seed: tf.Tensor,
    ) -> None:
        self._density = density
        self._step = 0
        self.state = list(state)
        self._velocity = [tf.zeros_like(v) for v in state]
        self._roots = roots
        self._eta = eta
        self._friction = friction
        self._seed = seed
        self._compiled_move = tf.function(self._move, autograph=False)

    def move(self, steps: int) -> list[NDArray[np.floating]]:
        """Take steps, with the hyperparameters as they are, and return the state."""
        start = tf.constant(self._step)
        self.state, self._velocity = self._compiled_move(
            start, start + steps, self.state, self._velocity
        )
        self._step += steps
        return [v.numpy() for v in self.state]

    def learn(self, steps: int, window: int, learning_rate: float) -> None:
        """Take steps, each followed by one of Adam at a state of the window."""
        variables = self._density.model.trainable_variables
        optimizer = Adam(learning_rate, jit_compile=False)
        optimizer.build(variables)
        past = [tf.Variable(tf.repeat(v[None], window, axis=0)) for v in self.state]

        def take(step: tf.Tensor, state: State, velocity: State) -> Any:
            own = fold_in(self._seed, step)
            state, velocity = self._take(own, state, velocity)
            for values, v in zip(past, state, strict=True):
                values.scatter_update(tf.IndexedSlices(v[None], (step % window)[None]))
            known = tf.minimum(step + 1, window)
            chosen = tf.random.stateless_uniform([], fold_in(own, 2), maxval=known, dtype=tf.int32)
            earlier = [values[chosen] for values in past]
            gradients = self._density.gradients(earlier, variables, fold_in(own, 3))
            losses = [-gradient for gradient in gradients]
            optimizer.apply_gradients(zip(losses, variables, strict=True))
            return step + 1, state, velocity

        @tf.function(autograph=False)
        def run(start: tf.Tensor, stop: tf.Tensor, state: State, velocity: State) -> Any:
            return tf.while_loop(lambda step, *_: step < stop, take, (start, state, velocity))

        start = tf.constant(self._step)
        _, self.state, self._velocity = run(start, start + steps, self.state, self._velocity)
        self._step += steps

    def _move(self, start: tf.Tensor, stop: tf.Tensor, state: State, velocity: State) -> Any:
        def take(step: tf.Tensor, state: State, velocity: State) -> Any:
            return (step + 1, *self._take(fold_in(self._seed, step), state, velocity))

        return tf.while_loop(lambda step, *_: step < stop, take, (start, state, velocity))[1:]

    def _take(self, seed: tf.Tensor, state: State, velocity: State) -> tuple[Any, Any]:
        gradients = self._density.gradients(state, None, fold_in(seed, 0))
        moved = []
        for i, (R, r, g) in enumerate(zip(self._roots, velocity, gradients, strict=True)):
            eps = standard_normal(tf.shape(r), fold_in(fold_in(seed, 1), i), r.dtype)
            # r <- (1 - friction) r + eta R R^T g + sqrt(2 friction eta) R eps
            force = self._eta * _times(R, g, transpose=True)
            force += (2.0 * self._friction * self._eta) ** 0.5 * eps
            moved.append((1.0 - self._friction) * r + _times(R, force))
        return [v + r for v, r in zip(state, moved, strict=True)], moved


def _posteriors_of(model: Any) -> list[LocalInducing]:
    """The layers' posteriors, which must be free Gaussians at local inducing inputs."""
    if not isinstance(model, DeepGP):
        raise TypeError(f"model must be a gpflow_gi.models.DeepGP, but is {shown(model)}.")
    for i, layer in enumerate(model.layers, start=1):
        is_local = isinstance(layer, GPLayer) and isinstance(layer.posterior, LocalInducing)
        if not is_local or layer.posterior.pseudo_data is not None:
            raise ValueError(
                f"Layer {i} is not a GPLayer whose posterior is a LocalInducing with q_mu and "
                'q_sqrt. Build the model with build_deep_gp(..., inference="local"); for the '
                "weights of networks use gpflow_gi.inference.sghmc."
            )
    return [layer.posterior for layer in model.layers]


def _with_draws(model: DeepGP, values: Sequence[Any]) -> DeepGP:
    """A copy of the model whose posteriors are draws [T, M, P] of each layer."""
    copied: DeepGP = gpflow.utilities.deepcopy(model)
    for layer, own in zip(copied.layers, values, strict=True):
        Z: Parameter = layer.posterior.inducing_inputs
        layer.posterior = RecordedInducing(Z, own)
        layer.posterior.inducing_inputs = Z  # with its prior and transform
    return copied


def _times(root: tf.Tensor, eps: tf.Tensor, *, transpose: bool = False) -> tf.Tensor:
    """R eps, or R^T eps, output by output: [P, M, M], [C, M, P] -> [C, M, P]."""
    return tf.einsum("pkl,ckp->clp" if transpose else "pkl,clp->ckp", root, eps)
