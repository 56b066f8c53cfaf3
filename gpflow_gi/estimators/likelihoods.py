"""Likelihoods by name, the targets that they take, and draws of their noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.validation import is_one_of, shown
from ..datasets import Standardiser
from ..datasets.table import Array

if TYPE_CHECKING:
    from gpflow.likelihoods import Likelihood

NAMES = ("gaussian", "student-t", "heteroskedastic", "poisson", "bernoulli")


def of_targets(
    likelihood: Any, Y: Array, weights: Array | None = None
) -> tuple[Likelihood, Standardiser]:
    """A likelihood for targets, and the scaling under which it takes them.

    Targets of likelihoods whose noise has a scale are standardised: "gaussian", "student-t",
    "heteroskedastic" (a scale that depends on the inputs), and GPflow's likelihoods of these kinds.

    :param likelihood: one of :data:`NAMES`, or a GPflow likelihood, which is copied.
    :param Y: [N, Q].
    :param weights: [N], of the rows; None for equal ones.
    :raises ValueError: if there is no such likelihood, or if the targets do not fit it.
    """
    import gpflow
    import tensorflow_probability as tfp
    from gpflow.likelihoods import (
        Bernoulli,
        Gaussian,
        HeteroskedasticTFPConditional,
        Likelihood,
        MultiClass,
        Poisson,
        Softmax,
        StudentT,
    )

    from ..architectures.start import NOISE_VARIANCE

    if not isinstance(likelihood, Likelihood) and not is_one_of(likelihood, NAMES):
        raise ValueError(
            f"likelihood must be one of {', '.join(NAMES)}, or a GPflow likelihood, but is "
            f"{shown(likelihood)}."
        )
    if isinstance(likelihood, MultiClass | Softmax):
        raise ValueError(
            f"likelihood is a {type(likelihood).__name__}, over classes: a classifier takes it, "
            "and a regressor does not."
        )
    if isinstance(likelihood, Likelihood):
        made = gpflow.utilities.deepcopy(likelihood)
    elif likelihood == "gaussian":
        made = Gaussian(NOISE_VARIANCE)
    elif likelihood == "student-t":
        made = StudentT(scale=np.sqrt(NOISE_VARIANCE))
    elif likelihood == "heteroskedastic":
        exp = gpflow.utilities.positive(base="exp")
        made = HeteroskedasticTFPConditional(tfp.distributions.Normal, scale_transform=exp)
    elif likelihood == "poisson":
        made = Poisson()
    else:
        made = Bernoulli()
    if isinstance(made, HeteroskedasticTFPConditional) and Y.shape[1] > 1:
        raise ValueError(
            f"A heteroskedastic likelihood takes one target, but y has {Y.shape[1]} columns."
        )
    if isinstance(made, Poisson) and (np.any(Y < 0) or np.any(Y != np.round(Y))):
        raise ValueError(
            "A Poisson likelihood takes counts 0, 1, 2 and so on, but y holds other numbers."
        )
    if isinstance(made, Bernoulli) and not np.all(np.isin(Y, (0, 1))):
        raise ValueError("A Bernoulli likelihood takes 0 and 1, but y holds other numbers.")
    if isinstance(made, Gaussian | StudentT | HeteroskedasticTFPConditional):
        return made, Standardiser.of_targets(Y, weights)
    return made, Standardiser(np.zeros(Y.shape[1]), np.ones(Y.shape[1]))


def draw(likelihood: Likelihood, X: Array, f: Array, rng: np.random.RandomState) -> Array:
    """Draws of targets given values of f.

    :param X: inputs, [N, D], on which the noise may depend.
    :param f: [S, N, P].
    :return: [S, N, Q], on the scale that the likelihood takes.
    :raises ValueError: for a likelihood whose noise is not known here.
    """
    import tensorflow_probability as tfp
    from gpflow.likelihoods import (
        Bernoulli,
        Gaussian,
        MultiLatentTFPConditional,
        Poisson,
        StudentT,
    )
    from gpflow.utilities.parameter_or_function import evaluate_parameter_or_function

    from ..core.noise import variance_of_outputs

    if isinstance(likelihood, Gaussian):
        variance = variance_of_outputs(likelihood, X, f[0]).numpy()
        return f + np.sqrt(variance) * rng.normal(size=f.shape)
    if isinstance(likelihood, StudentT):
        df = float(np.asarray(likelihood.df))
        scale = evaluate_parameter_or_function(
            likelihood.scale, X, lower_bound=likelihood.scale_lower_bound
        )
        return f + np.asarray(scale) * rng.standard_t(df, size=f.shape)
    if isinstance(likelihood, MultiLatentTFPConditional):
        given = likelihood.conditional_distribution(f)
        if isinstance(given, tfp.distributions.Normal):
            scale = given.scale.numpy()
            return given.loc.numpy() + scale * rng.normal(size=scale.shape)
        return given.sample(seed=rng.randint(2**31, size=2)).numpy()
    if isinstance(likelihood, Poisson):
        rate = np.asarray(likelihood.invlink(f)) * float(np.asarray(likelihood.binsize))
        return rng.poisson(rate).astype(float)
    if isinstance(likelihood, Bernoulli):
        return (rng.uniform(size=f.shape) < np.asarray(likelihood.invlink(f))).astype(float)
    raise ValueError(f"draws with the noise of a {type(likelihood).__name__} are not implemented.")
