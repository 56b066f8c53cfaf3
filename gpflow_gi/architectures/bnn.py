"""Bayesian neural networks from data and a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Gaussian, Likelihood

from ..core.random import fold_in, start_seed
from ..core.validation import (
    finite_array,
    numpy_seed,
    positive_integer,
    true_or_false,
    widths_of_layers,
)
from ..inference import Implicit, WeightSpace
from ..kernels.nonlinearities import Nonlinearity, as_nonlinearity
from ..layers import DenseLayer
from ..models import DeepGP
from ..models.targets import check_likelihood, check_targets
from ..posteriors import NoiseNetwork, Optimal, Posterior
from ..priors import WeightPrior
from .networks import (
    Method,
    hidden_posterior,
    last_posterior,
    methods_of_layers,
    new_prior,
    prior_maker,
)
from .start import (
    NOISE_VARIANCE,
    centres,
    check_rows,
    output_dim_for,
    targets_near,
    warn_of_scale,
)


def build_bnn(
    X: Any,
    Y: Any,
    *,
    widths: Sequence[int] = (50, 50),
    inference: str | Sequence[Method] = "global",
    prior: str | Callable[[], WeightPrior] = "neal",
    prior_scale: float = 1.0,
    nonlinearity: str | Nonlinearity = "relu",
    bias: bool = True,
    num_inducing: int = 100,
    inducing_inputs: Any = None,
    shared_precision: bool = True,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> Any:
    """A Bayesian neural network whose start makes the first training step useful.

    It starts at a network drawn from the prior. The inducing points are pushed through that
    network. Their activations are the pseudo-outputs of hidden layers (and the inducing inputs of
    local layers); the drawn weights are the means of factorised layers. The last layer starts as
    the regression of the targets on its inputs: its pseudo-outputs are the means of the targets
    around each inducing point, with the precision of that many observations. It has a full
    precision matrix; hidden layers have a diagonal one.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows):
    the priors and the initial noise assume that scale.

    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_bnn(X, X**3, widths=(20,), inference="factorised -> global", num_inducing=10)
    >>> [type(layer).__name__ for layer in model.layers]
    ['DenseLayer', 'Deterministic', 'DenseLayer']
    >>> mean, variance = model.predict_y(X)
    >>> mean.shape
    TensorShape([50, 1])

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param widths: widths of the hidden layers.
    :param inference: "global", "local" or "factorised" for all layers; or "factorised -> global",
        "local -> global" or "prior -> global", where the last layer is global and the hidden layers
        are not (the paper's section 3); or "global -> optimal", "local -> optimal" or
        "factorised -> optimal", where the last layer has its exact posterior given all rows and
        the hidden layers (:class:`gpflow_gi.posteriors.Optimal`, for Gaussian noise); or a list
        with one method per layer. Or "implicit": all weights are a network of noise, without a
        density, as in adversarial variational Bayes (:class:`gpflow_gi.inference.Implicit`
        with a :class:`gpflow_gi.posteriors.NoiseNetwork`), for
        ``gi.fit(objective=DensityRatioKL())``. Arguments about inducing points are then unused.
    :param prior: "neal", "standard" or "scale" (the paper's section 2.3); "learned", which is
        "neal" with a scale of each layer that maximises the bound; "ard", with such a scale of
        each input and unit (:class:`gpflow_gi.priors.ARDPrior`); or a function that makes a prior
        of :mod:`gpflow_gi.priors` for each layer.
    :param prior_scale: factor on the weights' standard deviation, if `prior` is a name.
    :param nonlinearity: after each hidden layer: a name, or an elementwise function; see
        :func:`gpflow_gi.nonlinearities.as_nonlinearity`.
    :param bias: True if every layer has a unit that is always one.
    :param num_inducing: M, for the model and for every local layer; at most the number of
        different rows of X.
    :param inducing_inputs: initial inducing inputs, [M, D], in the units of X, instead of the
        centres of k-means. There may be more of them than rows of X, and they may lie outside the
        data. `num_inducing` is then ignored.
    :param shared_precision: True if all units of a hidden layer with global inducing points share
        one pseudo-precision, as in the paper; False for one of each unit, so that units can be
        switched off one by one: better bounds and predictions for about four times the work (see
        the results of networks). No effect on other layers.
    :param likelihood: a GPflow likelihood; by default Gaussian, with a learned noise variance that
        starts at 0.1.
    :param num_samples: S, the number of samples of the bound in training.
    :param seed: for k-means and for the drawn network, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet: a :class:`~gpflow_gi.models.DeepGP`, or for "implicit" a
        :class:`~gpflow_gi.inference.WeightPosterior`.
    :raises ValueError: if an argument has the wrong shape, is not finite or not positive, or is
        unknown.
    :raises TypeError: if an argument is of the wrong kind, such as another likelihood than a
        Gaussian one for "optimal", or a `shared_precision` that is not True or False.
    :warns UserWarning: if `num_inducing` exceeds the number of different rows of X, and is lowered
        to it; or if a column is far from standardised.
    """
    if isinstance(inference, str) and inference == "implicit":
        network = build_bnn(
            X,
            Y,
            widths=widths,
            inference="factorised",
            prior=prior,
            prior_scale=prior_scale,
            nonlinearity=nonlinearity,
            bias=bias,
            likelihood=likelihood,
            seed=seed,
        )
        return _implicit(network, num_samples, seed)
    X, Y = check_rows(X, Y)
    widths = widths_of_layers(widths)
    methods = methods_of_layers(inference, len(widths) + 1, optimal=True)
    make_prior = prior_maker(prior, prior_scale)
    function = as_nonlinearity(nonlinearity)
    if likelihood is None:
        likelihood = Gaussian(NOISE_VARIANCE)
    check_likelihood(likelihood)
    bias = true_or_false("bias", bias)
    shared = true_or_false("shared_precision", shared_precision)
    output_dim = output_dim_for(likelihood, Y.shape[1])
    check_targets(likelihood, Y, output_dim)
    warn_of_scale(X, Y, likelihood)
    seed = numpy_seed("seed", seed)
    num_inducing = positive_integer("num_inducing", num_inducing)
    if inducing_inputs is not None:
        U = finite_array("inducing_inputs", inducing_inputs, (None, X.shape[1]))
    else:
        if not {"global", "local"} & set(methods):
            num_inducing = min(num_inducing, len(np.unique(X, axis=0)))  # not kept: no warning
        U = centres(X, num_inducing, seed)
    V, Lambda = targets_near(X, Y, U, likelihood)

    rng = np.random.default_rng(seed)
    dims = [X.shape[1], *widths, output_dim]
    layers: list[Any] = []
    Z = U  # the inducing points below a layer
    for i, method in enumerate(methods):
        A = np.hstack([Z, np.ones((len(Z), 1))]) if bias else Z
        weight_prior, deviation = new_prior(make_prior, method, A.shape[1], seed)
        if i < len(widths):
            W = deviation * rng.normal(size=(A.shape[1], dims[i + 1]))
            outputs = A @ W
            posterior: Posterior = hidden_posterior(method, Z, W, deviation, outputs, shared=shared)
        elif method == "optimal":
            posterior = Optimal(X, Y, likelihood)
        else:
            posterior = last_posterior(method, Z, A, deviation, V, Lambda)
        layers.append(DenseLayer(dims[i], dims[i + 1], posterior, prior=weight_prior, bias=bias))
        if i < len(widths):
            layers.append(function)
            Z = function(tf.constant(outputs, X.dtype)).numpy()
    return DeepGP(
        layers,
        likelihood,
        num_data=len(X),
        inducing_inputs=U if "global" in methods else None,
        num_samples=num_samples,
    )


def _implicit(network: DeepGP, num_samples: int, seed: int) -> Implicit:
    """All weights as a network of noise, which starts around a draw from the prior."""
    space = WeightSpace(network)
    mean = space.draw_prior(1, fold_in(start_seed(seed), -1))[0].numpy()
    sampler = NoiseNetwork(space.size, mean=mean, seed=seed)
    return Implicit(network, sampler, num_samples=num_samples)
