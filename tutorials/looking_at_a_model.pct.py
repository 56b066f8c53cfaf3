# ---
# jupyter:
#   jupytext:
#     formats: ipynb,.pct.py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Looking at a model
#
# After this tutorial you can
#
# - see what a model believes before it has seen data,
# - see whether training has ended, and which term of the bound moved,
# - see predictions, functions, and the way of the inducing points through the layers,
# - tell by three pictures whether predictions are as sure as they may be.
#
# Every picture is one call of `gi.plotting`, which draws on the axes that it is given.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import matplotlib.pyplot as plt
import numpy as np
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi

# %% [markdown]
# ## Data
#
# A wave whose frequency grows, with noise of standard deviation 0.15: 150 rows to train on, 500 to
# test on. The targets have about unit scale, so that nothing needs to be standardised.


# %%
def sample(num_rows, seed):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-1, 1, size=(num_rows, 1)), axis=0)
    Y = np.sin(6 * (X + 1) ** 2) + 0.15 * rng.normal(size=X.shape)
    return X, Y


X, Y = sample(150, 0)
X_test, Y_test = sample(500, 1)
grid = np.linspace(-1.2, 1.2, 300)[:, None]

model = gi.architectures.build_deep_gp(X, Y, num_layers=2, num_inducing=30)

# %% [markdown]
# ## Before training: functions from the prior
#
# Each curve is a function, the same at every call. What no such curve looks like, the model can
# learn only at the price of a large KL divergence, or by changing its kernels. These are too slow
# for the wave: training will have to do so.

# %%
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
gi.plotting.function_draws(grid, model.sample_prior(6, seed=0)(grid), ax)
ax.set(xlabel="x", ylabel="y", title="Six functions from the prior of a 2-layer deep GP")
plt.show()

# %% [markdown]
# ## Training
#
# On the left the bound: a run that has not ended still climbs, as this one does a little. On the
# right its two terms. The band between the curves is the KL divergence, which the data term has to
# earn: when the bound jumps, at 500 steps, the data term rises by several times as much as the band
# widens.

# %%
record = gi.fit(model, (X, Y), steps=reduce_in_tests(2000), kl_warmup=200, progress=False, seed=0)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
gi.plotting.training_curves({"global": record}, left, num_data=len(X))
gi.plotting.bound_terms(record, right, num_data=len(X))
plt.show()

# %% [markdown]
# ## Predictions and functions
#
# The bands hold half and 95% of new targets; they are those of the mixture over samples of the
# hidden layer, not of one Gaussian. The functions on the right are drawn jointly: they are smooth,
# as the bands cannot show, and without noise.

# %%
S = reduce_in_tests(100)
mean, variance = (each.numpy() for each in model.predict_y_components(grid, S, seed=0))
draws = model.sample_functions(8, seed=0)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
gi.plotting.predictive_bands(grid, mean, variance, left)
gi.plotting.function_draws(grid, draws(grid), right)
for ax, title in ((left, "New targets"), (right, "Eight functions")):
    ax.plot(X, Y, "k.", markersize=3)
    ax.set(xlabel="x", title=title)
left.set_ylabel("y")
plt.show()

# %% [markdown]
# ## Inducing points through the layers
#
# One line is one inducing point in one sample: where it starts, which gives it its colour, what the
# first layer makes of it, and what comes out of the second. Where lines come together, a layer makes
# inputs equal; where they part, it is steep or its samples differ.

# %%
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
gi.plotting.inducing_points(model.inducing_activations(5, seed=0), ax)
plt.show()

# %% [markdown]
# ## Are the predictions as sure as they may be?
#
# On rows that were held out. Left: the values of the predictive distribution functions at the
# targets, which are uniform if the predictions are calibrated; a bar leaves the grey band one time
# in twenty by chance. Middle: how many targets lie in intervals of each probability. Right: what
# predictions missed by, in their own standard deviations; a trend would say what the mean has not
# learned.

# %%
mean, variance = (each.numpy() for each in model.predict_y_components(X_test, S, seed=1))
pit = gi.metrics.mixture_pit(Y_test, mean, variance)
mixture_mean, mixture_variance = gi.metrics.mixture_moments(mean, variance)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
gi.plotting.pit_histogram(pit, axes[0])
gi.plotting.coverage_curve(pit, axes[1])
gi.plotting.residuals(Y_test, mixture_mean, mixture_variance, axes[2])
plt.show()

# %% [markdown]
# And the predictions themselves, with intervals of 95%: the share outside is printed. Less than
# 0.05 is too careful, more is too sure.

# %%
half = 1.96 * np.sqrt(mixture_variance)
fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
gi.plotting.predictions_with_intervals(
    Y_test, mixture_mean, mixture_mean - half, mixture_mean + half, ax
)
plt.show()
print(f"outside: {np.mean(np.abs(Y_test - mixture_mean) > half):.3f}")

# %% [markdown]
# All say the same of this model: the outermost bars are too low, wide intervals hold more targets
# than they should, and fewer than one in twenty are outside of those of 95%. It is somewhat too
# careful. The residuals have no trend.
#
# ## What to try next
#
# - Train for 200 steps only, and look at all of this again: which picture shows it first?
# - Take `inference=["local", "global"]`, and compare the ways of the inducing points. (With local
#   layers alone there are no points that go through all of them.)
# - For predicted classes there is `gi.plotting.reliability_diagram`, of the bins that
#   `gi.classification_metrics.reliability` counts.
