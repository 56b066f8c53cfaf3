"""Deep Gaussian processes from data and a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import gpflow
import numpy as np
from gpflow.base import Parameter
from gpflow.kernels import Kernel, MultioutputKernel, SquaredExponential
from gpflow.likelihoods import Gaussian, Likelihood

from ..core.validation import (
    finite_array,
    is_one_of,
    non_negative_integer,
    numpy_seed,
    positive_integer,
    share_below_one,
    shown,
    true_or_false,
)
from ..layers import GPLayer, LatentVariableLayer
from ..models import DeepGP
from ..models.missing import Missing, check_missing
from ..models.targets import check_likelihood, check_targets
from ..posteriors import Optimal, Posterior
from .layer_starts import (
    LESS_LONG,
    LONG,
    GlobalForm,
    Inference,
    hidden_from_inputs,
    hidden_from_targets,
    own_of,
    posterior_of,
    regression_on_targets,
)
from .start import (
    NOISE_VARIANCE,
    as_regression,
    centres,
    check_rows,
    inference_of_layers,
    output_dim_for,
    warn_of_scale,
    with_means,
)

HIDDEN_VARIANCE = 0.01
"""Initial variance of a hidden layer's default kernel: it adds little to the mean function."""

LARGEST_HIDDEN_DIM = 30
"""Largest default width of a hidden layer, as in Salimbeni & Deisenroth (2017)."""


def build_deep_gp(
    X: Any,
    Y: Any,
    *,
    num_layers: int = 2,
    inference: Inference | Sequence[Inference] = "global",
    num_inducing: int = 100,
    inducing_inputs: Any = None,
    hidden_dim: int | None = None,
    mean_function: Literal["linear", "zero"] = "linear",
    hidden_start: Literal["inputs", "targets"] = "inputs",
    shared_precision: bool = True,
    whiten: bool = False,
    own_share: float = 0.0,
    kernel: Kernel | Callable[[int], Kernel] | Sequence[Kernel] | None = None,
    likelihood: Likelihood | None = None,
    latent_dim: int = 0,
    missing: Missing = "error",
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """A deep Gaussian process whose start makes the first training step useful.

    Inducing inputs start at k-means centres of X. Hidden layers have the mean functions of
    Salimbeni & Deisenroth (2017): the identity or, where the widths differ, a projection onto the
    leading principal components or padding with zeros. Their pseudo-outputs start at zero, which
    keeps the layer near that mean. The last layer starts as the regression onto the targets. With a
    Gaussian likelihood this start is exact: given the means of the hidden layers, the
    pseudo-outputs and the precision are those of the optimal q(u) (Titsias, 2009). The last layer
    has a full precision matrix, since an inducing point summarises many rows that it shares with
    others; hidden layers have a diagonal one. Local and full layers start with the same Gaussians
    q(z) as global ones.

    The start is near the solution of a single layer. KL warm-up (``kl_warmup`` of
    :func:`gpflow_gi.fit`) over the first quarter or third of the steps helps training to leave it.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows):
    the initial kernels and noise assume that scale.

    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> inference = ["local", "global", "global"]
    >>> model = build_deep_gp(X, np.sign(X), num_layers=3, inference=inference, num_inducing=20)
    >>> [type(layer.posterior).__name__ for layer in model.layers]
    ['LocalInducing', 'GlobalInducing', 'GlobalInducing']

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param num_layers: number of GP layers, at least 1.
    :param inference: "global", "local", "full" or "prior" for all layers, or a list with one per
        layer from the inputs up. "full" is a free Gaussian at the global inducing points,
        :class:`~gpflow_gi.posteriors.FullGaussian`. Hidden layers like that below a global one,
        ``["full", "global"]``, had a better bound than "global" alone on six of nine sets (two
        layers, one split each): see the page on results. The last of a list may be "optimal", the
        best Gaussian given the layers below and the means of all rows there, for Gaussian noise:
        :class:`~gpflow_gi.posteriors.Optimal`, at the global inducing points, or at points of its
        own if all layers below have local ones. Each step then needs all rows.
    :param num_inducing: M, for every layer; at most the number of different rows of X.
    :param inducing_inputs: initial inducing inputs, [M, D], in the units of X, instead of the
        centres of k-means. There may be more of them than rows of X, and they may lie outside the
        data. `num_inducing` is then ignored. With `own_share` the last of them are the layers' own;
        if they are sorted, some at random.
    :param hidden_dim: width of the hidden layers; that of their inputs, D, by default, but at most
        30.
    :param mean_function: of the hidden layers: "linear" for those above, which are skip
        connections, or "zero": their pseudo-outputs start where the mean functions would have
        been, with a kernel of variance 1, so the start is nearly the same function under another
        prior.
    :param hidden_start: "inputs" as above; or with ``mean_function="zero"`` also "targets": the
        first layer starts as the regression onto the targets, and the hidden layers above it as the
        identity, with kernels of almost linear functions. The hidden layers are then as wide as
        there are targets of the regression, P. This start needs far less KL divergence, and
        reaches better bounds with few rows of many inputs: see the results of deep GPs.
    :param shared_precision: True if all units of a hidden layer with global inducing points share
        one pseudo-precision, as in the paper; False for one of each unit, which costs a
        factorisation of each unit. Local and full layers have a covariance of each unit in any
        case; there it has no effect.
    :param whiten: True for whitened pseudo-outputs in hidden layers with global inducing points, as
        those of local GP layers always are: see :class:`~gpflow_gi.posteriors.GlobalInducing`. No
        effect otherwise. Try both, and keep the better bound: see the page on results.
    :param own_share: the share of the M inducing points that each layer with global ones has for
        itself, from 0 to less than 1. Own points start where the layers below send them, and are
        learned at their layer; the model's inducing inputs are the others, at least one. See
        :class:`~gpflow_gi.posteriors.GlobalInducing`.
    :param kernel: a function from the number of inputs to a GPflow kernel, a kernel to be copied
        for every layer, or a list with one kernel per layer. By default a squared exponential with
        one lengthscale per input.
    :param likelihood: a GPflow likelihood; by default Gaussian, with a learned noise variance that
        starts at 0.1.
    :param latent_dim: L, the number of latent variables of each row, which a
        :class:`~gpflow_gi.layers.LatentVariableLayer` with free posteriors appends to X: for noise
        that is not Gaussian or differs between inputs. The first layer then has D + L inputs, and
        hidden layers are D + L wide by default. 0 for none.
    :param missing: "ignore" if NaN in Y stands for an output that was not observed; see
        :class:`~gpflow_gi.models.DeepGP`. The start then takes its column's mean.
    :param num_samples: S, the number of samples of the bound in training.
    :param seed: for k-means and a choice of own points, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet.
    :raises ValueError: if an argument has the wrong shape, is not finite or not positive, or is
        unknown, if a kernel does not fit its layer, or if its matrix at the inducing points
        cannot be factorised.
    :raises TypeError: if `likelihood` is not a GPflow likelihood, or not a Gaussian one for
        "optimal", or `shared_precision` or `whiten` is not True or False.
    :warns UserWarning: if `num_inducing` exceeds the number of different rows of X, and is lowered
        to it; or if a column is far from standardised.
    """
    if likelihood is None:
        likelihood = Gaussian(NOISE_VARIANCE)
    check_likelihood(likelihood)
    if check_missing(missing, likelihood) == "ignore":
        Y = with_means(Y)
    X, Y = check_rows(X, Y)
    num_layers = positive_integer("num_layers", num_layers)
    known = ("global", "local", "full", "prior")
    methods = inference_of_layers(inference, num_layers, known, ("optimal",))
    if methods[-1] == "optimal" and missing == "ignore":
        raise ValueError(
            'inference is "optimal" in the last layer, which needs all targets, but missing is '
            '"ignore". Use "global" there.'
        )
    seed = numpy_seed("seed", seed)
    output_dim = output_dim_for(likelihood, Y.shape[1])
    check_targets(likelihood, Y, output_dim)
    warn_of_scale(X, Y, likelihood)
    latent_dim = non_negative_integer("latent_dim", latent_dim)
    D = X.shape[1] + latent_dim
    if not is_one_of(mean_function, ("linear", "zero")):
        raise ValueError(
            f'mean_function must be "linear" or "zero", but is {shown(mean_function)}. For other '
            "mean functions put together gpflow_gi.layers.GPLayer and gpflow_gi.models.DeepGP."
        )
    shared = true_or_false("shared_precision", shared_precision)
    whiten = true_or_false("whiten", whiten)
    own_share = share_below_one("own_share", own_share)
    is_zero = mean_function == "zero"
    from_targets = _starts_from_targets(hidden_start, is_zero, likelihood, Y, output_dim)
    usual_width = output_dim if from_targets else min(D, LARGEST_HIDDEN_DIM)
    width = positive_integer("hidden_dim", usual_width if hidden_dim is None else hidden_dim)
    if from_targets and width != output_dim:
        raise ValueError(
            f'hidden_start is "targets", so hidden_dim must be {output_dim}, the number of outputs '
            f"of the last layer, but is {width}. Leave it out."
        )
    input_dims = [D] + [width] * (num_layers - 1)
    if kernel is None:
        kernels = _default_kernels(input_dims, is_zero=is_zero, from_targets=from_targets)
    else:
        kernels = _kernels_of_layers(kernel, input_dims)

    num_inducing = positive_integer("num_inducing", num_inducing)
    if inducing_inputs is not None:
        U = finite_array("inducing_inputs", inducing_inputs, (None, X.shape[1]))
        num_inducing = len(U)
    if set(methods) == {"prior"}:
        num_inducing = 1  # no inducing points are kept
    U = centres(X, num_inducing, seed) if inducing_inputs is None else U[:num_inducing]
    is_global = bool({"global", "full"} & set(methods))
    num_own = min(round(own_share * len(U)), len(U) - 1)
    if num_own and np.array_equal(U, U[np.lexsort(U.T[::-1])]):
        # All points are sorted: the first and the last ones lie apart.
        U = U[np.random.default_rng(seed).permutation(len(U))]
    layers: list[Any] = []
    F, Z = X, U  # rows and inducing points below a layer, if every layer were its mean
    if latent_dim:
        latents = LatentVariableLayer(latent_dim, num_data=len(X))
        latents.connect(X.shape[1], len(U))
        H = np.asarray(latents.inducing_latents)
        F, Z = np.hstack([X, np.asarray(latents.q_mu)]), np.hstack([U, H])
        latents.inducing_latents = Parameter(H[: len(U) - num_own])
        layers.append(latents)
    below = methods[:-1], kernels[:-1], F, Z
    form = GlobalForm(shared, whiten, num_own)
    if from_targets:
        hidden, F, Z = hidden_from_targets(*below, Y, likelihood, output_dim, form)
    else:
        hidden, F, Z = hidden_from_inputs(*below, width, form, has_mean=not is_zero)
    layers += hidden
    if methods[-1] == "optimal":
        # Above a layer that follows the prior, inducing inputs drawn with the rows know where
        # these are; the means of the rows alone do not.
        is_global |= "prior" in methods
        own = own_of(Z, num_own) if is_global else Z
        posterior: Posterior = Optimal(X, Y, likelihood, num_inducing=len(Z), inducing_inputs=own)
    else:
        V, Lambda = regression_on_targets(kernels[-1], Z, F, Y, likelihood, output_dim)
        form = GlobalForm(num_own=num_own)
        posterior = posterior_of(methods[-1], kernels[-1], Z, V, Lambda, "full", form)
    layers.append(GPLayer(kernels[-1], output_dim, posterior))
    return DeepGP(
        layers,
        likelihood,
        num_data=len(X),
        inducing_inputs=U[: len(U) - num_own] if is_global else None,
        num_samples=num_samples,
        missing=missing,
    )


def _starts_from_targets(
    hidden_start: Any, is_zero: bool, likelihood: Likelihood, Y: np.ndarray, output_dim: int
) -> bool:
    if not is_one_of(hidden_start, ("inputs", "targets")):
        raise ValueError(
            f'hidden_start must be "inputs" or "targets", but is {shown(hidden_start)}.'
        )
    if hidden_start == "inputs":
        return False
    if not is_zero:
        raise ValueError(
            'hidden_start="targets" is for mean_function="zero". Hidden layers with linear mean '
            "functions start at those."
        )
    if as_regression(likelihood, Y, output_dim) is None:
        raise ValueError(
            f'hidden_start is "targets", but the targets of a {type(likelihood).__name__} '
            'likelihood are no noisy values of f. Use hidden_start="inputs".'
        )
    return True


def _default_kernels(input_dims: list[int], *, is_zero: bool, from_targets: bool) -> list[Kernel]:
    if from_targets:
        stretches = [1.0, *[LONG] * (len(input_dims) - 2), LESS_LONG][: len(input_dims)]
        pairs = zip(input_dims, stretches, strict=True)
        return [_default_kernel(D, stretch**2, stretch) for D, stretch in pairs]
    hidden = [_default_kernel(D, 1.0 if is_zero else HIDDEN_VARIANCE) for D in input_dims[:-1]]
    return [*hidden, _default_kernel(input_dims[-1], 1.0)]


def _kernels_of_layers(kernel: Any, input_dims: list[int]) -> list[Kernel]:
    if isinstance(kernel, Kernel):
        kernels = [gpflow.utilities.deepcopy(kernel) for _ in input_dims]
    elif callable(kernel):
        kernels = [_kernel_of(kernel, D) for D in input_dims]
    elif isinstance(kernel, list | tuple):
        kernels = list(kernel)
    else:
        raise ValueError(
            "kernel must be a GPflow kernel, a function from the number of inputs to one, or a "
            f"list of kernels, but is {shown(kernel)}."
        )
    if len(kernels) != len(input_dims):
        raise ValueError(
            f"kernel holds {len(kernels)} kernels, but there are {len(input_dims)} layers."
        )
    for i, (one, D) in enumerate(zip(kernels, input_dims, strict=True), start=1):
        if not isinstance(one, Kernel) or isinstance(one, MultioutputKernel):
            raise ValueError(
                f"The kernel of layer {i} must be a GPflow kernel of one output, which all outputs "
                f"share, but is {shown(one)}. For one kernel per output put together "
                "gpflow_gi.layers.GPLayer and gpflow_gi.models.DeepGP yourself."
            )
        lengthscales = getattr(one, "lengthscales", None)
        all_inputs = isinstance(one.active_dims, slice)
        if lengthscales is not None and all_inputs and lengthscales.shape not in ((), (D,)):
            raise ValueError(
                f"The kernel of layer {i} has {lengthscales.shape[0]} lengthscales, but the layer "
                f"has {D} inputs. Give a function of the number of inputs as the kernel."
            )
    return kernels


def _kernel_of(make: Callable[[int], Kernel], input_dim: int) -> Kernel:
    try:
        return make(input_dim)
    except Exception as error:
        raise ValueError(
            f"kernel must be a function from the number of inputs to a kernel, but {shown(make)} "
            f"failed for {input_dim}: {shown(error)}."
        ) from None


def _default_kernel(input_dim: int, variance: float, stretch: float = 1.0) -> Kernel:
    # Squared distances between standardised rows grow with the number of columns.
    lengthscales = np.full(input_dim, stretch * np.sqrt(input_dim))
    return SquaredExponential(variance, lengthscales=lengthscales)
