"""Training the model of a method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpflow_gi import architectures
from gpflow_gi.architectures.start import centres
from gpflow_gi.bounds import Estimate, estimate_elbo
from gpflow_gi.metrics.held_out import predictive_components
from gpflow_gi.training import fit
from gpflow_gi.training.record import notes_not_warnings

from .budgets import Budget
from .methods import Method

Array = NDArray[np.float64]

MOST_NUMBERS = 50
"""In a hyperparameter that is worth recording; more are inducing points, or weights."""


@dataclass(frozen=True)
class Trained:
    """A model after training, as far as a trial cares.

    :param predict: from inputs [n, D] to means and variances of the mixture, each [S, n, 1].
    :param elbo: bound on the log evidence per row, in nats; or that itself, where it is known.
    :param elbo_standard_error: of that, over samples; 0 if it is exact.
    :param steps: of the optimiser.
    :param compile_seconds: of training, before its first step.
    :param num_parameters: numbers that were trained.
    :param hyperparameters: what became of the few of them.
    :param notes: what training had to change to come to its end, a sentence each.
    """

    predict: Callable[[Array], tuple[Array, Array]]
    elbo: float
    elbo_standard_error: float
    steps: int
    compile_seconds: float
    num_parameters: int
    hyperparameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def train_method(method: Method, budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    """Build the model and train it.

    :param X: [N, D], standardised.
    :param Y: [N, 1], standardised.
    :param seed: of the start, of training and of predictions.
    """
    return _TRAIN[method.model](method.settings, budget, X, Y, seed)


def _linear(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    from sklearn.linear_model import BayesianRidge

    model = BayesianRidge(**settings).fit(X, Y[:, 0])

    def predict(inputs: Array) -> tuple[Array, Array]:
        mean, deviation = model.predict(inputs, return_std=True)
        return mean[None, :, None], np.square(deviation)[None, :, None]

    return Trained(
        predict=predict,
        # Of scikit-learn's hyperpriors, which are all but flat, this holds a hundred-thousandth.
        elbo=float(model.scores_[-1]) / len(X),
        elbo_standard_error=0.0,
        steps=int(model.n_iter_),
        compile_seconds=0.0,
        num_parameters=X.shape[1] + 3,
        hyperparameters={
            "noise_variance": float(1 / model.alpha_),
            "weight_variance": float(1 / model.lambda_),
        },
    )


def _gp(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    def trained(lengthscale: float) -> tuple[float, int, Any]:
        """Log evidence or bound, iterations, and the model."""
        kernel = gpflow.kernels.SquaredExponential()
        # Of collinear inputs L-BFGS may try a lengthscale of zero, where all is NaN.
        kernel.lengthscales = gpflow.Parameter(
            np.full(X.shape[1], lengthscale),
            transform=gpflow.utilities.positive(settings["least_lengthscale"]),
        )
        noise_variance = architectures.start.NOISE_VARIANCE
        if len(X) <= settings["max_exact_rows"]:
            model = gpflow.models.GPR((X, Y), kernel, noise_variance=noise_variance)
        else:
            Z = centres(X, _num_inducing(budget, X), seed)
            model = gpflow.models.SGPR((X, Y), kernel, Z, noise_variance=noise_variance)
            gpflow.set_trainable(model.inducing_variable, False)
        done = gpflow.optimizers.Scipy().minimize(
            model.training_loss,
            model.trainable_variables,
            options={"maxiter": settings["max_iterations"]},
        )
        return -float(done.fun), int(done.nit), model

    # The evidence has several maxima, some of which explain the noise by tiny lengthscales.
    runs = [trained(lengthscale) for lengthscale in (1.0, math.sqrt(X.shape[1]))]
    finite = [run for run in runs if math.isfinite(run[0])]
    if not finite:
        raise FloatingPointError("L-BFGS ended where the evidence is not finite, at every start.")
    bound, _, model = max(finite, key=lambda run: run[0])
    return Trained(
        predict=lambda inputs: predictive_components(model, inputs, None),
        elbo=bound / len(X),
        elbo_standard_error=0.0,
        steps=sum(steps for _, steps, _ in runs),
        compile_seconds=0.0,
        num_parameters=_num_parameters(model),
        hyperparameters=_few_numbers(model),
    )


def _svgp(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    model = architectures.build_sparse_gp(X, Y, _num_inducing(budget, X), seed=seed, **settings)
    return _trained_by_adam(model, False, budget, X, Y, seed)


def _deep_gp(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    model = architectures.build_deep_gp(
        X, Y, num_inducing=_num_inducing(budget, X), seed=seed, **settings
    )
    return _trained_by_adam(model, True, budget, X, Y, seed)


def _bnn(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    model = architectures.build_bnn(
        X, Y, num_inducing=_num_inducing(budget, X), seed=seed, **settings
    )
    return _trained_by_adam(model, True, budget, X, Y, seed)


_TRAIN: dict[str, Callable[[Mapping[str, Any], Budget, Array, Array, int], Trained]] = {
    "linear": _linear,
    "gp": _gp,
    "svgp": _svgp,
    "deep-gp": _deep_gp,
    "bnn": _bnn,
}


def _trained_by_adam(
    model: Any, is_sampled: bool, budget: Budget, X: Array, Y: Array, seed: int
) -> Trained:
    half = budget.steps // 2
    with notes_not_warnings():
        record = fit(
            model,
            (X, Y),
            steps=budget.steps,
            batch_size=min(budget.batch_size, len(X)),
            learning_rate=lambda step: tf.where(
                step < half, budget.learning_rate, budget.last_learning_rate
            ),
            num_samples=budget.num_samples if is_sampled else None,
            kl_warmup=budget.kl_warmup,
            progress=False,
            seed=seed,
        )
    bound: Estimate = estimate_elbo(
        model, (X, Y), budget.num_elbo_samples if is_sampled else None, seed=seed
    )
    num_samples = budget.num_test_samples if is_sampled else None
    return Trained(
        predict=lambda inputs: predictive_components(model, inputs, num_samples, seed=seed),
        elbo=bound.value / len(X),
        elbo_standard_error=bound.standard_error / len(X),
        steps=budget.steps,
        compile_seconds=record.compile_seconds,
        num_parameters=_num_parameters(model),
        hyperparameters=_few_numbers(model),
        notes=tuple(map(str, record.recoveries)),
    )


def _num_inducing(budget: Budget, X: Array) -> int:
    return min(budget.num_inducing, len(np.unique(X, axis=0)))


def _num_parameters(model: Any) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)


def _few_numbers(model: Any) -> dict[str, Any]:
    """Kernels', priors' and likelihoods' parameters, by their place in the model."""
    return {
        place.lstrip("."): parameter.numpy().tolist()
        for place, parameter in gpflow.utilities.parameter_dict(model).items()
        if tf.size(parameter) <= MOST_NUMBERS and "posterior" not in place and "q_" not in place
    }
