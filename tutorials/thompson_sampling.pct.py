# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # Bayesian optimisation by Thompson sampling
#
# After this tutorial you can
#
# - minimise a function that is expensive to evaluate, several evaluations at a time, with a deep
#   Gaussian process as the model of what is not known yet,
# - draw functions from a posterior, and find the minimum of each by its gradient,
# - see where such a search went, and compare it with a random one.
#
# The method is one sentence: draw a function from the posterior, go where it is smallest,
# evaluate there, and learn from what came out. Where the posterior is sure, draws agree and the
# method exploits; where it is not, draws differ and the method explores. A batch of four
# evaluations is four draws. This asks for draws that are functions: the same at every call, and
# with a gradient. That is what `model.sample_functions` returns.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.plotting import COLOURS

# %% [markdown]
# ## The function
#
# Branin's function on a square, a standard test: a curved valley with three minima of equal
# depth, and a steep wall in one corner. A stationary kernel has to take one lengthscale for both.
# Subtracting the mean and dividing by the standard deviation over the square makes the values of
# the size that models start from.


# %%
def branin(x):
    """[N, 2] in the unit square -> [N, 1], standardised."""
    a, b = 15 * x[:, :1] - 5, 15 * x[:, 1:]
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return (valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 54.3) / 51.3


MINIMA = np.array([[5 - np.pi, 12.275], [5 + np.pi, 2.275], [5 + 3 * np.pi, 2.475]]) / 15
LOWEST = branin(MINIMA).min()

# %% [markdown]
# ## The loop
#
# `build_deep_gp` and `fit` make the model. `propose` does the rest: the best of 1,000 random
# points for each draw, and from there L-BFGS, on all draws at once. `draws(x)` is every function
# at every point, [S, N, 1]; its diagonal is each function at its own point. A sigmoid keeps the
# points inside the square.

# %%
BATCH = 4
rng = np.random.default_rng(0)


def train(X, Y):
    likelihood = gpflow.likelihoods.Gaussian(1e-4)  # evaluations have no noise
    gpflow.set_trainable(likelihood, False)
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=2, num_inducing=min(len(X), 40), likelihood=likelihood
    )
    gi.fit(model, (X, Y), steps=reduce_in_tests(1000, 2), progress=False)
    return model


def propose(model, seed):
    draws = model.sample_functions(BATCH, seed)
    candidates = rng.uniform(0.01, 0.99, size=(1000, 2))
    best = np.argmin(draws(candidates)[..., 0], axis=1)
    x = gpflow.Parameter(candidates[best], transform=tfp.bijectors.Sigmoid())
    gpflow.optimizers.Scipy().minimize(
        lambda: tf.reduce_sum(tf.linalg.diag_part(draws(x)[..., 0])), [x.unconstrained_variable]
    )
    return x.numpy(), draws


START = 8
X = rng.uniform(size=(START, 2))
Y = branin(X)
for step in range(reduce_in_tests(10, 2)):
    model = train(X, Y)
    proposals, draws = propose(model, seed=step)
    X = np.concatenate([X, proposals])
    Y = np.concatenate([Y, branin(proposals)])
    print(f"{len(Y)} evaluations, regret {Y.min() - LOWEST:.5f}")

# %% [markdown]
# ## What came out
#
# Left, the points on the contours of the function: the first eight in white, the others darker
# the later they came. The crosses are the three minima. Right, the regret: how far the best value
# so far is above the minimum, in standard deviations of the function. The band is what points
# drawn at random reach, the middle half of 200 such searches.

# %%
grid = np.linspace(0, 1, 100)
everywhere = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
random = branin(rng.uniform(size=(200 * len(Y), 2))).reshape(200, -1)
random_regret = np.minimum.accumulate(random, axis=1) - LOWEST
counts = np.arange(1, len(Y) + 1)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
levels = np.linspace(-1.1, 3, 20)
left.contour(grid, grid, branin(everywhere).reshape(100, 100), levels, colors="0.8", linewidths=0.8)
left.scatter(*X[:START].T, c="w", edgecolors="k", label="start")
later = left.scatter(*X[START:].T, c=counts[START:], cmap="viridis_r", label="proposed", zorder=2)
left.plot(*MINIMA.T, "x", color=COLOURS[5], markersize=10, markeredgewidth=2, label="minima")
fig.colorbar(later, ax=left, label="evaluation")
left.set(xlabel="x₁", ylabel="x₂", title="evaluations")
left.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), ncols=3, frameon=False)
right.fill_between(counts, *np.quantile(random_regret, [0.25, 0.75], axis=0), color="0.85")
right.plot(counts, np.median(random_regret, axis=0), "0.5", label="random search")
best = np.minimum.accumulate(Y[:, 0]) - LOWEST
right.step(counts, best, where="post", color=COLOURS[0], label="Thompson sampling")
right.axvline(START, color="0.7", linestyle=":")
right.set(yscale="log", xlabel="evaluations", ylabel="regret", title="best value so far")
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
for ax in (left, right):
    ax.title.set_size("medium")
plt.show()

# %% [markdown]
# The first three batches are no better than random points. After 48 evaluations the regret is more
# than a hundred times below theirs.
#
# Here are the last four draws themselves, each with its minimum. They agree where the evaluations
# are. They also agree that the lowest values are at the minimum on the left, and not at the other
# two: nothing was evaluated close to these, and the model is more certain than it should be. For
# the lowest value one minimum is enough; to find them all, start with more points.

# %%
fig, axes = plt.subplots(1, BATCH, figsize=(11, 3), sharey=True, layout="constrained")
for ax, values, proposal in zip(axes, draws(everywhere)[..., 0], proposals, strict=True):
    surface = ax.contourf(grid, grid, tf.reshape(values, [100, 100]), levels, extend="both")
    ax.plot(*proposal, "x", color=COLOURS[5], markersize=10, markeredgewidth=2)
    ax.set(xlabel="x₁", xticks=[0, 0.5, 1])
axes[0].set(ylabel="x₂")
fig.colorbar(surface, ax=axes, label="f", ticks=range(-1, 4))
plt.show()

# %% [markdown]
# ## What to try next
#
# - Another model: `num_layers=1` is a sparse GP, `inference="local"` a doubly stochastic deep GP,
#   and `gi.architectures.build_bnn` a network. Only `train` changes.
# - Another batch: `BATCH = 1` usually needs fewer evaluations for the same regret, and more rounds.
# - Noise: with noisy evaluations, the lowest value seen is no estimate of the minimum. Take the
#   point where the mean of `model.predict_f` is lowest.
# - Your own kernel: draws have gradients where the kernels have features; see
#   `gpflow_gi.models.FunctionDraws`. With any other kernel `draws.is_pathwise` is False, and the
#   best candidate has to do without L-BFGS.
