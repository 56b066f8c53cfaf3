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
# # Deep GPs, global and local
#
# After this tutorial you can
#
# - train the same deep Gaussian process with local and with global inducing points, by changing
#   one argument,
# - compare the two by bound and fit,
# - draw functions through the layers, and see what each layer does,
# - say when global inducing points pay, and what they cost.
#
# Numbers in parentheses are those of [Ober & Aitchison (2021)](https://arxiv.org/abs/2005.08140),
# "the paper".

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.plotting import COLOURS

# %% [markdown]
# ## Data that one lengthscale does not fit
#
# Three plateaus: 200 rows with noise of standard deviation 0.1. A GP with one lengthscale must
# choose between steep steps and flat plateaus. The targets have about unit scale, so that nothing
# needs to be standardised.


# %%
def truth(x):
    return np.where(x < -0.4, -1.0, np.where(x < 0.3, 1.0, 0.0))


rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-1, 1, size=(200, 1)), axis=0)
Y = truth(X) + 0.1 * rng.normal(size=X.shape)
X_test = rng.uniform(-1, 1, size=(1000, 1))
Y_test = truth(X_test) + 0.1 * rng.normal(size=X_test.shape)
grid = np.linspace(-1.1, 1.1, 300)[:, None]


def tidy(ax, title="", ylabel=""):
    ax.set(xlabel="x", ylabel=ylabel, title=title)
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0)


fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.plot(grid, truth(grid), color=COLOURS[1], label="truth")
ax.plot(X, Y, "o", color="#222222", markersize=2.5, label="data")
tidy(ax, ylabel="y")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## One argument
#
# Layer by layer, a deep GP is $f_\ell = m_\ell(f_{\ell-1}) + g_\ell(f_{\ell-1})$ with $f_0 = x$, a
# mean function $m_\ell$ and a GP $g_\ell$. The values of $g_\ell$ at some inducing inputs, $u_\ell$,
# carry the approximate posterior. What are the inputs?
#
# - **local**: inputs $Z_\ell$ of the layer's own, learned, and a free Gaussian $q(u_\ell)$. That
#   is doubly stochastic variational inference (Salimbeni & Deisenroth 2017). Layers are
#   independent under it.
# - **global**: what comes up from the layer below, $U_{\ell-1}$, where only $U_0$ is learned. The
#   layer's posterior is the exact one of a regression on pseudo-outputs $v$ with precision
#   $\Lambda$:
#
# $$q(u_\ell \mid U_{\ell-1}) = \mathcal{N}(\Sigma \Lambda v,\ \Sigma), \qquad
# \Sigma = (K(U_{\ell-1})^{-1} + \Lambda)^{-1} \qquad (22)$$
#
# It depends on the draw of the layers below, which is how layers come to be correlated (23).
# Everything else, the kernels, the mean functions, the likelihood, and the $q$ that training
# starts from, is the same for both.

# %%
STEPS = reduce_in_tests(2000, 10)


def trained(inference, num_layers, num_inducing=20):
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=num_layers, inference=inference, num_inducing=num_inducing
    )
    record = gi.fit(
        model,
        (X, Y),
        steps=STEPS,
        learning_rate=lambda step: tf.where(step < STEPS // 2, 0.02, 0.002),
        kl_warmup=STEPS // 3,
        progress=False,
    )
    return model, record


models, records = {}, {}
for num_layers, inference in [
    (1, "local"),
    (2, "local"),
    (2, "global"),
    (3, "local"),
    (3, "global"),
]:
    name = "one layer" if num_layers == 1 else f"{num_layers} layers, {inference}"
    models[name], records[name] = trained(inference, num_layers)

# %% [markdown]
# One layer is GPflow's SVGP, where there is nothing to be local or global about. GPflow's exact
# GP stands beside it, and its log evidence: what one layer with this kernel could at best have.

# %%
gpr = gpflow.models.GPR(
    (X, Y), gpflow.kernels.SquaredExponential(lengthscales=0.2), noise_variance=0.1
)
gpflow.optimizers.Scipy().minimize(gpr.training_loss, gpr.trainable_variables)
print(f"exact GP: log evidence {gpr.log_marginal_likelihood():.1f} nats\n")

print(f"{'':>16}  {'ELBO':>12}  log density  parameters")
for name, model in models.items():
    elbo = gi.bounds.estimate_elbo(model, (X, Y), reduce_in_tests(500, 4))
    bound = f"{elbo.value:.1f} ± {elbo.standard_error:.1f}"
    density = np.mean(model.predict_log_density((X_test, Y_test), seed=0))
    size = sum(int(tf.size(variable)) for variable in model.trainable_variables)
    print(f"{name:>16}  {bound:>12}  {density:11.3f}  {size:>10}")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
gi.plotting.training_curves(records, ax)
plt.show()

# %%
fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
for ax, name in zip(axes, ("one layer", "2 layers, local", "2 layers, global"), strict=True):
    mean, variance = (np.ravel(moment) for moment in models[name].predict_y(grid, seed=0))
    band = 2 * np.sqrt(variance)
    ax.fill_between(grid[:, 0], mean - band, mean + band, color=COLOURS[0], alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color=COLOURS[0])
    ax.plot(X, Y, "o", color="#222222", markersize=1.8)
    tidy(ax, name)
axes[0].set_ylabel("y, two standard deviations")
plt.show()

# %% [markdown]
# Depth is worth far more here than the choice of the posterior: one layer rounds off the steps
# and is uncertain on the plateaus, two layers much less so. Log densities are of 1000 other rows,
# in nats per row; the true function with the true noise would have 0.88.
#
# The curves jump while the KL term is warmed up and the learning rate is high, in the first 1000
# steps, and settle when it falls to a tenth. Their numbers are of single samples in training, the
# table's of 500 samples after it.
#
# ## Through the layers
#
# `propagate` draws the layers below the last, and hands out draws of functions. We follow five
# draws of the whole network from $x$ to the hidden layer, and from there to $f$.


# %%
def through(model, X, num_samples, seed):
    """The values of each layer, [S, N] each, for S draws of the network."""
    for_hidden, for_last, *for_rows = tf.random.split([0, seed], 2 + len(model.layers))
    below = model.propagate(tf.constant(X), num_samples, for_hidden, draw_all=True)
    values, F = [], tf.constant(X)
    draws = [*below.hidden, below.last.draw(num_samples, for_last)]
    for draw, seed in zip(draws, for_rows, strict=True):
        F, _ = draw.extend(F, seed)  # jointly over rows: one function
        values.append(F[..., 0])
    return values


fig, axes = plt.subplots(2, 3, figsize=(12, 5.6), layout="constrained")
for row, inference in zip(axes, ("local", "global"), strict=True):
    hidden, f = through(models[f"2 layers, {inference}"], grid, 5, seed=3)
    for s in range(5):
        order = np.argsort(hidden[s])
        row[0].plot(grid, hidden[s], color=COLOURS[s], linewidth=1.2)
        row[1].plot(
            np.take(hidden[s], order), np.take(f[s], order), color=COLOURS[s], linewidth=1.2
        )
        row[2].plot(grid, f[s], color=COLOURS[s], linewidth=1.2)
    tidy(row[0], f"{inference}: first layer", "hidden unit h")
    tidy(row[1], f"{inference}: second layer", "f")
    tidy(row[2], f"{inference}: both", "f")
    row[1].set_xlabel("hidden unit h")
plt.show()

# %% [markdown]
# The first layer stretches the input where the steps are, and presses it together elsewhere; the
# second layer is smooth in the hidden unit. What the two layers do apart is not determined: only
# the composition is. A local posterior is independent from layer to layer, so that its second
# layer must be flat where draws of the first one differ, or the composition is uncertain. Under a global one the second layer's
# posterior moves with the draw of the first.
#
# ## How tight are the bounds?
#
# The importance weighted bound (IWBO) comes nearer to the log evidence than the ELBO does; what
# lies between is a part of what the approximation costs.

# %%
for name in ("2 layers, local", "2 layers, global", "3 layers, local", "3 layers, global"):
    elbo = gi.bounds.estimate_elbo(models[name], (X, Y), reduce_in_tests(500, 4)).value
    iwbo = gi.bounds.estimate_iwbo(models[name], (X, Y), reduce_in_tests(100, 4), num_repeats=5)
    print(f"{name}: ELBO {elbo:.1f}, IWBO {iwbo.value:.1f}, {iwbo.value - elbo:.1f} nats above")

# %% [markdown]
# ## When global pays, and what it costs
#
# Here local inducing points are ahead, in both bounds and in the density of other rows: by little
# with two layers, by more with three. One data set and one seed are no rule. `gpflow-gi experiment
# global-local` takes five cases in which the choice should matter, ten draws of 1000 rows of a
# [map](../docs/datasets.md#the-elevation-of-a-fault) for each, the same CPU time for both, and for
# each the best of three learning rates. These are its results:

# %%
import json
from pathlib import Path

from gpflow_gi.experiments import study

results = json.loads(Path("../docs/results/global-local.json").read_text())
print(study.summary(results))

# %%
from gpflow_gi.experiments import global_local

global_local.plot(results)

# %% [markdown]
# A diamond is the mean over ten runs, with two standard errors. On these data, in their default
# form, global inducing points clearly pay in two of the cases:
#
# - in networks, by 166 nats of 1000 rows against local ones (but factorised weights, with a worse
#   bound, predict better there), and
# - in deep GPs without skip connections, by 37 nats and a tenth of the error.
#
# In deep GPs with the skip connections that `build_deep_gp` has by default they do not: local ones
# have the better bound, by little with two layers, by more with five. With 10 inducing
# points local ones are ahead too.
# [The page on experiments](../docs/experiments.md#global-against-local) has the settings.
#
# What else differs:
#
# - **Bound.** On [most of nine UCI sets](../docs/results/README.md) the best form of global ones had
#   the better bound, the default form on two; in the paper's section 3.3, almost everywhere. A
#   better bound is not always a better prediction.
# - **Parameters.** Local inducing inputs are learned in every layer, M × D numbers each, with a
#   covariance for each output. Global ones exist once, and outputs share one precision. The table
#   above shows it for one input; with ten, and hidden layers as wide, it is many times as much.
# - **Time.** A step of a global layer takes M³ + N M² for each sample; a local one takes N M² for
#   each of its outputs, which have covariances of their own. With six or eight inputs, and hidden
#   layers as wide, a step of global ones [took](../docs/performance.md) about half the time of
#   local ones with one sample, and 0.8 to 1.3 times it with ten.
# - **Below the last layer.** A layer below a global one must hand up values of one function at
#   the inducing points and at the rows, local ones only marginals row by row. The library sees to
#   it, in any mix.
#
# ## What to try next
#
# - `inference=["local", "global"]`, `["prior", "global"]`: any mix is a valid bound.
# - `num_samples=10` in `build_deep_gp`, or more inducing points.
# - Your own table: `gpflow-gi compare --data FILE.csv --target COLUMN --layers 3`, or [a sweep
#   over many splits](uci_from_the_command_line.ipynb).
# - [Moving from GPflow and GPflux](moving_from_gpflow_and_gpflux.ipynb), if you have a model
#   there.
