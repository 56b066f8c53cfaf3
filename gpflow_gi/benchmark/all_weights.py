"""Networks by a method for all weights at once, with a noise variance from rows left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gpflow.likelihoods import Gaussian
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from gpflow_gi.architectures import build_bnn
from gpflow_gi.architectures.start import NOISE_VARIANCE
from gpflow_gi.inference import (
    WeightPosterior,
    WeightSpace,
    ensemble,
    laplace,
    map_estimate,
    multi_swag,
    sghmc,
    variational,
)
from gpflow_gi.metrics.held_out import predictive_components
from gpflow_gi.models import Predictive

from .budgets import Budget

Array = NDArray[np.float64]

NOISE_RANGE = 1e-5, 1.0
"""Range of the noise variance of a standardised target; GPflow's likelihood takes at least 1e-6."""


@dataclass(frozen=True, eq=False)
class Found:
    """A network whose weights were found together.

    :param model: what predicts.
    :param posterior: over the weights: what has a bound, if it has a density.
    :param num_components: S, of which the prediction is the mixture.
    :param num_weights: that were found, those of all networks of an ensemble.
    :param steps: of all searches, at most.
    """

    model: Predictive
    posterior: WeightPosterior
    num_components: int
    num_weights: int
    steps: int

    def components(self, X: Array, seed: int) -> tuple[Array, Array]:
        """Means and variances of the predictions, each [S, n, 1].

        :param X: [n, D].
        :param seed: of the components, if they are drawn.
        """
        return predictive_components(self.model, X, self.num_components, seed=seed)


def find(settings: Mapping[str, Any], budget: Budget, X: Array, Y: Array, seed: int) -> Found:
    """Find the noise variance, then the weights.

    Where a network can pass through all targets, the joint density of targets, weights and noise
    has no maximum. So the noise variance is the one under which a share of the rows is most likely,
    given what is found from the others (Gal & Ghahramani 2016, "Dropout as a Bayesian
    approximation", choose theirs by rows left out too).

    :param settings: of the method.
    :param X: [N, D], standardised.
    :param Y: [N, 1], standardised.
    :param seed: of the rows left out, the starts and the minibatches.
    """
    order = np.random.default_rng(seed).permutation(len(X))
    left_out, rest = np.split(order, [int(settings["noise_share"] * len(X))])
    if not len(left_out):
        return _search(settings, budget, X, Y, NOISE_VARIANCE, seed)

    def loss(log_noise: float) -> float:
        found = _search(settings, budget, X[rest], Y[rest], float(np.exp(log_noise)), seed)
        data = X[left_out], Y[left_out]
        density = found.model.predict_log_density(data, found.num_components, seed=seed)
        return -float(np.mean(density))

    noise = minimize_scalar(
        loss,
        bounds=np.log(NOISE_RANGE),
        method="bounded",
        options={"maxiter": settings["noise_searches"]},
    )
    found = _search(settings, budget, X, Y, float(np.exp(noise.x)), seed)
    return replace(found, steps=(noise.nfev + 1) * found.steps)


def _search(
    settings: Mapping[str, Any],
    budget: Budget,
    X: Array,
    Y: Array,
    noise_variance: float,
    seed: int,
) -> Found:
    network = build_bnn(
        X,
        Y,
        widths=settings["widths"],
        prior=settings["prior"],
        inference="factorised",  # no posterior of a layer plays a part
        num_inducing=1,
        likelihood=Gaussian(noise_variance),
        seed=seed,
    )
    size = WeightSpace(network).size
    numbers: dict[str, Any] = {
        "steps": budget.steps,
        "batch_size": budget.batch_size,
        "learning_rate": budget.learning_rate,
        "seed": seed,
    }
    if settings["inference"] == "laplace":
        structure: Any = "full" if size <= settings["most_full_weights"] else "diagonal"
        gaussian = laplace(network, (X, Y), structure=structure, **numbers)
        # What predicts is linear in the weights; a bound of its evidence is none of the network's.
        return Found(gaussian.model, gaussian.weight_samples, 1, size, budget.steps)
    T = settings.get("num_components", 1)
    inference = settings["inference"]
    if inference == "ensemble":
        T = settings["num_members"]
        members = ensemble(network, (X, Y), T, **numbers).model
        return Found(members, members, T, T * size, budget.steps)
    if inference in ("swag", "multiswag"):
        M, rank = settings["num_members"], settings["rank"]
        found: Any = multi_swag(
            network,
            (X, Y),
            M,
            rank,
            steps=budget.steps,
            interval=max(1, budget.steps // (2 * rank)),
            batch_size=min(32, len(X)),
            # The curvature goes with 1 / noise, and so does the largest stable rate.
            learning_rate=settings["relative_rate"] * noise_variance,
            map_steps=budget.steps,
            seed=seed,
        )
        return Found(found.model, found.model, T, M * size * (rank + 2), 2 * budget.steps)
    if inference == "sghmc":
        found = sghmc(
            network,
            (X, Y),
            num_draws=settings["num_draws"] // settings["num_chains"],
            num_chains=settings["num_chains"],
            steps=budget.steps,
            batch_size=min(32, len(X)),
            learning_rate=settings["relative_rate"] * noise_variance,
            map_steps=budget.steps,
            seed=seed,
        )
        draws = found.model
        return Found(draws, draws, settings["num_draws"], size, 2 * budget.steps)
    if inference in ("dropout", "low-rank", "radial", "flow"):
        sizes = {
            name: settings[name] for name in ("flow_steps", "dropout_rate") if name in settings
        }
        start = None
        if settings.get("start") == "map":
            start = map_estimate(network, (X, Y), **numbers).theta
        found = variational(
            network,
            (X, Y),
            settings.get("family", inference),
            start=start,
            num_samples=settings.get("num_samples", budget.num_samples),
            train_likelihood=inference != "dropout",
            **numbers,
            **sizes,
        )
        count = sum(int(np.prod(v.shape)) for v in found.model.own_variables)
        steps = budget.steps if start is None else 2 * budget.steps
        return Found(found.model, found.model, T, count, steps)
    point = map_estimate(network, (X, Y), **numbers).model
    return Found(point, point, 1, size, budget.steps)
