"""Training the model of a method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpflow_gi import architectures, objectives
from gpflow_gi.architectures.sparse_gp import sparse_gp_as_deep_gp
from gpflow_gi.architectures.start import centres
from gpflow_gi.bounds import Estimate, estimate_elbo
from gpflow_gi.inference import sghmc_inducing
from gpflow_gi.metrics.held_out import predictive_components
from gpflow_gi.models import NoDensityError, Predictive
from gpflow_gi.objectives import ImportanceWeighted, Objective
from gpflow_gi.training import FitRecord, LinearTail, NoRise, fit
from gpflow_gi.training.adam import Adam
from gpflow_gi.training.learning_rate import falling_rate
from gpflow_gi.training.record import notes_not_warnings

from . import all_weights
from .budgets import Budget
from .methods import Method

Array = NDArray[np.float64]

NUM_LATENT_SAMPLES = 10
"""Samples of each row's latent variables in the importance weighted bound of training."""

MOST_NUMBERS = 100
"""Largest size of a recorded hyperparameter; larger ones are inducing points or weights."""


class Numbers(Protocol):
    """Settings of training by Adam: those of a budget, or of another object that has them."""

    @property
    def steps(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def last_learning_rate(self) -> float: ...
    @property
    def kl_warmup(self) -> int: ...
    @property
    def batch_size(self) -> int | None: ...
    @property
    def num_samples(self) -> int: ...


def train_by(
    numbers: Numbers,
    model: Any,
    data: tuple[Any, Any],
    *,
    seed: int,
    progress: bool = False,
    until_converged: bool | NoRise = False,
    objective: Objective | None = None,
) -> FitRecord:
    """Train by Adam, with a lower rate in the second half of the steps.

    With a last rate of 0 the rate falls to it linearly, with Adam's beta_2 = 0.99: half the steps
    of other settings, and safe for long runs (docs/performance.md, "Fewer steps").

    A model with latent variables maximises the importance weighted bound: with the ELBO q(h) falls
    back to the prior, and the model to one without them.

    :param numbers: numbers of steps, rows and samples, and rates.
    :param model: the model, trained in place.
    :param data: X and Y.
    :param seed: seed of minibatches and samples.
    :param progress: True to show a progress bar.
    :param until_converged: as in :func:`gpflow_gi.fit`.
    :param objective: as in :func:`gpflow_gi.fit`; the bound, or that above, by default.
    :return: the record of the run.
    :raises ValueError: as :func:`gpflow_gi.fit`.
    :raises gpflow_gi.training.NonFiniteError: as :func:`gpflow_gi.fit`.
    """
    first, last = numbers.learning_rate, numbers.last_learning_rate
    if last:
        adam: dict[str, Any] = {"learning_rate": falling_rate(first, last, numbers.steps)}
    else:
        adam = {
            "learning_rate": LinearTail(first, numbers.steps),
            "optimizer": Adam(first, beta_2=0.99, jit_compile=False),
        }
    if objective is None and getattr(model, "latents", None):
        objective = ImportanceWeighted(NUM_LATENT_SAMPLES)
    return fit(
        model,
        data,
        steps=numbers.steps,
        batch_size=numbers.batch_size,
        **adam,
        num_samples=numbers.num_samples if is_sampled(model) else None,
        kl_warmup=numbers.kl_warmup,
        until_converged=until_converged,
        objective=objective,
        progress=progress,
        seed=seed,
    )


def is_sampled(model: Any) -> bool:
    """False for a model whose bound and predictions are in closed form."""
    return not isinstance(model, gpflow.models.SVGP)


def inducing_for(X: Array, most: int) -> int:
    """The number of inducing points: `most`, but at most the number of different rows."""
    return min(most, len(np.unique(X, axis=0)))


@dataclass(frozen=True)
class Trained:
    """A model after training, with what a trial needs.

    :param predict: function from inputs [n, D] to means and variances of the mixture, each
        [S, n, 1].
    :param bound: estimates the bound on the log evidence in nats, or returns the log evidence if it
        is known. It returns None if there is no bound: the posterior has no density.
    :param steps: number of steps of the optimiser; of a search for a maximum, the largest number.
    :param num_parameters: number of trained parameters.
    :param hyperparameters: final values of the small hyperparameters.
    :param record: record of training; empty if that was not by :func:`gpflow_gi.fit`.
    :param model: makes the model that predicts, ready to be saved; None if it cannot be.
    :param num_samples: number of components of its predictions.
    """

    predict: Callable[[Array], tuple[Array, Array]]
    bound: Callable[[], Estimate | None]
    steps: int
    num_parameters: int
    hyperparameters: Mapping[str, Any]
    record: FitRecord = field(default_factory=FitRecord)
    model: Callable[[], Predictive] | None = None
    num_samples: int = 1


def train_method(
    method: Method,
    budget: Budget,
    X: Array,
    Y: Array,
    seed: int,
    progress: bool = False,
    *,
    until_converged: bool = False,
    likelihood: Any = None,
) -> Trained:
    """Build the model and train it.

    :param X: [N, D], standardised.
    :param Y: [N, 1], standardised.
    :param seed: seed of the start, of training and of predictions.
    :param progress: True to show a progress bar.
    :param until_converged: True to end training by Adam when the bound no longer rises; see
        :func:`gpflow_gi.fit`.
    :param likelihood: of targets that are not standardised numbers, for methods that are trained
        by Adam; None for a Gaussian one.
    """
    if method.model == "linear":
        return _linear(method.settings, X, Y)
    if method.model == "gp":
        return _gp(method.settings, budget, X, Y, seed)
    if method.is_over_all_weights:
        return _all_weights(method.settings, budget, X, Y, seed)
    trained = _by_adam(method, budget, X, Y, seed, progress, until_converged, likelihood)
    if "chains" in method.settings:
        return _by_chains(trained, method.settings["chains"], budget, X, Y, seed)
    return trained


def _linear(settings: Mapping[str, Any], X: Array, Y: Array) -> Trained:
    from sklearn.linear_model import BayesianRidge

    model = BayesianRidge(**settings).fit(X, Y[:, 0])

    def predict(inputs: Array) -> tuple[Array, Array]:
        mean, deviation = model.predict(inputs, return_std=True)
        return mean[None, :, None], np.square(deviation)[None, :, None]

    return Trained(
        predict=predict,
        # Of scikit-learn's hyperpriors, which are all but flat, this holds a hundred-thousandth.
        bound=lambda: Estimate(float(model.scores_[-1]), 0.0),
        steps=int(model.n_iter_),
        num_parameters=X.shape[1] + 3,
        hyperparameters={
            "noise_variance": float(1 / model.alpha_),
            "weight_variance": float(1 / model.lambda_),
        },
    )


def _gp(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Trained:
    def trained(lengthscale: float) -> tuple[float, int, Any]:
        """Return log evidence or bound, iterations, and the model."""
        kernel = gpflow.kernels.SquaredExponential()
        # For collinear inputs L-BFGS may try a lengthscale of zero, where everything is NaN.
        kernel.lengthscales = gpflow.Parameter(
            np.full(X.shape[1], lengthscale),
            transform=gpflow.utilities.positive(settings["least_lengthscale"]),
        )
        noise_variance = architectures.start.NOISE_VARIANCE
        if len(X) <= settings["max_exact_rows"]:
            model = gpflow.models.GPR((X, Y), kernel, noise_variance=noise_variance)
        else:
            Z = centres(X, inducing_for(X, budget.num_inducing), seed)
            model = gpflow.models.SGPR((X, Y), kernel, Z, noise_variance=noise_variance)
            gpflow.set_trainable(model.inducing_variable, False)
        done = gpflow.optimizers.Scipy().minimize(
            model.training_loss,
            model.trainable_variables,
            options={"maxiter": settings["max_iterations"]},
        )
        return -float(done.fun), int(done.nit), model

    # The evidence has several maxima; some explain the noise by tiny lengthscales.
    runs = [trained(lengthscale) for lengthscale in (1.0, math.sqrt(X.shape[1]))]
    finite = [run for run in runs if math.isfinite(run[0])]
    if not finite:
        raise FloatingPointError("L-BFGS ended where the evidence is not finite, at every start.")
    bound, _, model = max(finite, key=lambda run: run[0])
    return Trained(
        predict=lambda inputs: predictive_components(model, inputs, None),
        bound=lambda: Estimate(bound, 0.0),
        steps=sum(steps for _, steps, _ in runs),
        num_parameters=_num_parameters(model),
        hyperparameters=_few_numbers(model),
    )


def _by_adam(
    method: Method,
    budget: Budget,
    X: Array,
    Y: Array,
    seed: int,
    progress: bool,
    until_converged: bool,
    likelihood: Any,
) -> Trained:
    budget = with_own_numbers(budget, method.settings.get("train", {}))
    objective = objective_from(method.settings.get("objective"))
    model = build(method, X, Y, inducing_for(X, budget.num_inducing), seed, likelihood)
    with notes_not_warnings():
        record = train_by(
            budget,
            model,
            (X, Y),
            seed=seed,
            progress=progress,
            until_converged=until_converged,
            objective=objective,
        )
    num_elbo, num_test = (
        number if is_sampled(model) else None
        for number in (budget.num_elbo_samples, budget.num_test_samples)
    )
    return Trained(
        predict=lambda inputs: predictive_components(model, inputs, num_test, seed=seed),
        bound=lambda: _bound(model, (X, Y), num_elbo, seed),
        steps=record.step,
        num_parameters=_num_parameters(model),
        hyperparameters=_few_numbers(model),
        record=record,
        model=lambda: model if is_sampled(model) else sparse_gp_as_deep_gp(model),
        num_samples=num_test or 1,
    )


def _by_chains(
    start: Trained, settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int
) -> Trained:
    """Chains from a trained model, with the budget's steps for the burn-in and for the draws."""
    assert start.model is not None
    model = sghmc_inducing(
        start.model(),
        (X, Y),
        burn_in=budget.steps,
        steps=budget.steps,
        batch_size=min(budget.batch_size, len(X)),
        # A rate that falls to zero would learn no kernel.
        learning_rate=budget.last_learning_rate or 0.1 * budget.learning_rate,
        seed=seed,
        **settings,
    ).model
    num_draws = settings["num_chains"] * settings["num_draws"]
    return replace(
        start,
        predict=lambda inputs: predictive_components(model, inputs, num_draws, seed=seed),
        bound=lambda: None,
        steps=start.steps + 2 * budget.steps,
        hyperparameters=_few_numbers(model),
        model=lambda: model,
        num_samples=num_draws,
    )


def _all_weights(
    settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int
) -> Trained:
    found = all_weights.find(settings, budget, X, Y, seed)
    q = found.posterior
    return Trained(
        predict=lambda inputs: found.components(inputs, seed),
        bound=lambda: _bound(q, (X, Y), budget.num_elbo_samples, seed),
        steps=found.steps,
        num_parameters=found.num_weights + 1,  # and the noise variance
        hyperparameters=_few_numbers(q.network),
        model=lambda: found.model,
        num_samples=found.num_components,
    )


def build(
    method: Method, X: Array, Y: Array, num_inducing: int, seed: int, likelihood: Any = None
) -> Any:
    """The model of a method that is trained by Adam, at its start.

    :param method: of one of the kinds "svgp", "deep-gp", "bnn", "vip" and "sip".
    :param X: [N, D], standardised.
    :param Y: [N, 1], standardised.
    :param num_inducing: number of inducing points.
    :param seed: seed of the start.
    :param likelihood: None for a Gaussian one.
    """
    function: Any = {
        "svgp": architectures.build_sparse_gp,
        "deep-gp": architectures.build_deep_gp,
        "bnn": architectures.build_bnn,
        "vip": architectures.build_vip,
        "sip": architectures.build_sip,
    }[method.model]
    own = ("train", "objective", "chains")
    settings = {name: value for name, value in method.settings.items() if name not in own}
    if likelihood is not None:
        settings["likelihood"] = likelihood
        if method.model == "svgp":  # GPflow's draws noise for some likelihoods that no seed reaches
            function = architectures.build_deep_gp
            settings.update(num_layers=1, inference="local")
    return function(X, Y, num_inducing=num_inducing, seed=seed, **settings)


def with_own_numbers(budget: Budget, own: Mapping[str, Any]) -> Budget:
    """The budget with a method's own settings of training.

    :param own: some of the budget's fields, and "warmup_share", the share of the steps over which
        the weight of the KL term rises.
    """
    fields = dict(own)
    share = fields.pop("warmup_share", None)
    if share is not None:
        fields["kl_warmup"] = int(share * budget.steps)
    return replace(budget, **fields)


def objective_from(settings: Mapping[str, Any] | None) -> Objective | None:
    """An objective of :mod:`gpflow_gi.objectives` by its name and arguments; None for the ELBO."""
    if settings is None:
        return None
    arguments = dict(settings)
    objective: Objective = getattr(objectives, arguments.pop("name"))(**arguments)
    return objective


def _bound(model: Any, data: tuple[Array, Array], num_samples: Any, seed: int) -> Estimate | None:
    try:
        return estimate_elbo(model, data, num_samples, seed=seed)
    except NoDensityError:
        return None


def _num_parameters(model: Any) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)


def _few_numbers(model: Any) -> dict[str, Any]:
    """Parameters of kernels, priors and likelihoods, by their place in the model."""
    return {
        place.lstrip("."): parameter.numpy().tolist()
        for place, parameter in gpflow.utilities.parameter_dict(model).items()
        if tf.size(parameter) <= MOST_NUMBERS and "posterior" not in place and "q_" not in place
    }
