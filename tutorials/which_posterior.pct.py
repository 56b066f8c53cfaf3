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
# # Which posterior?
#
# After this tutorial you can
#
# - find eleven posteriors over the weights of one network, each in one line,
# - say how far each is from the exact one, by a bound, by k-hat and by its predictions,
# - choose one for your own data.
#
# The network is small enough for NUTS, which draws from the exact posterior. A network of yours may
# not be: then the measures that need no NUTS are what you have, and this tutorial shows how far
# they can be trusted.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import time
import warnings

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.inference import (
    ensemble,
    laplace,
    map_estimate,
    multi_swag,
    nuts,
    sghmc,
    variational,
)
from gpflow_gi.models import NoDensityError
from gpflow_gi.plotting import COLOURS

warnings.filterwarnings("ignore", category=UserWarning)
tf.get_logger().setLevel("ERROR")

# %% [markdown]
# ## One network
#
# Thirty rows with a gap, and a network of one hidden layer of 20 units. The noise is known, so that
# the weights are all that is unknown.

# %%
rng = np.random.default_rng(0)
X = np.sort(np.concatenate([rng.uniform(-2, -0.7, 15), rng.uniform(0.5, 2, 15)]))[:, None]
Y = np.sin(2 * X) + 0.1 * rng.normal(size=X.shape)
grid = np.linspace(-3, 3, 121)[:, None]


def network(inference):
    likelihood = gpflow.likelihoods.Gaussian(0.1**2)
    gpflow.set_trainable(likelihood, False)
    return gi.architectures.build_bnn(
        X,
        Y,
        widths=[20],
        inference=inference,
        prior_scale=3.0,
        nonlinearity="tanh",
        likelihood=likelihood,
        num_inducing=30,
    )


plain = network("factorised")  # the methods for all weights do not use its posterior
steps = reduce_in_tests(4000)

# %% [markdown]
# ## Eleven posteriors
#
# The first two are posteriors of layers, trained by `gi.fit`. The others are over all weights at once.


# %%
def of_layers(inference):
    model = network(inference)
    gi.fit(model, (X, Y), steps=steps, learning_rate=0.02, progress=False)
    return model


data = X, Y
methods = {
    "global inducing": lambda: of_layers("global"),
    "factorised": lambda: of_layers("factorised"),
    "mean-field": lambda: variational(plain, data, "mean-field", steps=steps).model,
    "full-rank": lambda: variational(plain, data, "full-rank", steps=steps).model,
    "planar flow": lambda: variational(plain, data, "planar", flow_steps=8, steps=steps).model,
    "Laplace": lambda: laplace(plain, data).model,
    "MultiSWAG": lambda: (
        multi_swag(
            plain,
            data,
            5,
            rank=reduce_in_tests(10),
            steps=steps,
            interval=max(steps // 50, 1),
            learning_rate=2e-4,
        ).model
    ),
    "ensemble": lambda: ensemble(plain, data, 10).model,
    "random priors": lambda: ensemble(plain, data, 20, random_priors=True).model,
    "dropout": lambda: variational(plain, data, "dropout", steps=steps).model,
    "MAP": lambda: map_estimate(plain, data).model,
}
found, seconds = {}, {}
for name, find in methods.items():
    started = time.perf_counter()
    found[name] = find()
    seconds[name] = time.perf_counter() - started

exact = nuts(
    plain,
    data,
    num_draws=reduce_in_tests(500, 4),
    num_adaptation_steps=reduce_in_tests(300),
    max_tree_depth=8,
    inputs=grid,
).model

# %% [markdown]
# ## How far from the exact one?
#
# Two measures need no NUTS: the **bound** (ELBO), and **k-hat**, the shape of the tail of the
# importance weights. Below 0.7 the posterior can be corrected by its weights; above, even the
# bound's distance from the evidence is unknown. `gi.bounds.pareto_smoothed` gives both, here of 1000 samples. Posteriors
# without a density have neither. Those of "Laplace" belong to the network linearised in its weights,
# which is another model with another evidence. The evidence of the network itself comes from
# annealing, which is feasible for a network of this size.
#
# The third measure is the Wasserstein distance of the predictive distributions of f from those of NUTS: the
# mean distance between sorted draws.

# %%
S = reduce_in_tests(1000)
draws = np.sort(exact.predict_f_samples(grid, S, full_cov=False, seed=0)[..., 0], axis=0)
evidence = gi.bounds.annealed_evidence(plain, data, num_temperatures=reduce_in_tests(300))
print(f"log evidence {evidence}\n")
print(f"{'':16} {'distance':>8} {'ELBO':>8} {'k-hat':>6} {'seconds':>8}")
bands = {"NUTS": exact.predict_f_samples(grid, S, full_cov=False, seed=0).numpy()[..., 0]}
for name, model in found.items():
    f = model.predict_f_samples(grid, S, full_cov=False, seed=0).numpy()[..., 0]
    bands[name] = f
    distance = np.mean(np.abs(np.sort(f, axis=0) - draws))
    try:
        measured = gi.bounds.pareto_smoothed(model, data, max(S, 50))
        numbers = f"{measured.elbo.value:8.1f} {measured.k_hat:6.2f}"
    except NoDensityError:
        numbers = f"{'-':>8} {'-':>6}"
    print(f"{name:16} {distance:8.3f} {numbers} {seconds[name]:8.1f}")

# %% [markdown]
# The bands say where they differ. The dashed lines are two standard deviations of NUTS.

# %%
figure, axes = plt.subplots(3, 4, figsize=(12, 7.5), sharex=True, sharey=True, layout="constrained")
reference = bands["NUTS"]
sides = [reference.mean(0) + side * reference.std(0) for side in (-2, 2)]
for ax, (name, f) in zip(axes.flat, bands.items(), strict=True):
    colour = COLOURS[3] if name == "NUTS" else COLOURS[0]
    mean, deviation = f.mean(0), f.std(0)
    low, high = mean - 2 * deviation, mean + 2 * deviation
    ax.fill_between(grid[:, 0], low, high, color=colour, alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color=colour)
    for side in sides:
        ax.plot(grid, side, color=COLOURS[3], linewidth=0.9, linestyle=(0, (4, 3)))
    ax.plot(X, Y, "o", color="#222222", markersize=3, markeredgewidth=0)
    ax.set_title(name, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylim(min(map(np.min, sides)) - 1, max(map(np.max, sides)) + 1)
figure.supxlabel("x")
figure.supylabel("f")
plt.show()

# %% [markdown]
# ## When to use which
#
# | posterior | use it | what it costs |
# |---|---|---|
# | NUTS | as the reference, up to 10,000 weights | minutes |
# | global inducing | where uncertainty between the data counts, and a bound is wanted | M x M factorisations in every layer |
# | random priors | for uncertainty between the data, without a bound; priors and noise are Gaussian | one training for each member |
# | ensemble, MultiSWAG | for large networks that are trained on minibatches anyway | one training for each member |
# | Laplace | after training, if gradients for all outputs are affordable | L x L for L weights; "kron", "diagonal" or "last layer" above 10,000 |
# | full-rank | for very few weights | L x L in every step |
# | flows, low-rank, mean-field | as baselines: how much does the family matter? | little |
# | dropout, MAP | as baselines | least |
#
# The bound ranks posteriors that have one; it says nothing of the others. All of them can be
# compared by the log density of held-out rows, `model.predict_log_density`.
#
# For a model that is no network, such as a hierarchical one, `gi.inference.Target` takes a log
# density, and `variational` and `nuts` take that target: `gpflow-gi experiment eight-schools` does so.
# For large data, `sghmc` draws with gradients from minibatches:

# %%
chains = sghmc(
    plain,
    data,
    num_draws=reduce_in_tests(100, 4),
    num_chains=4,
    steps=5 * steps,
    learning_rate=2e-4,
)
f = chains.model.predict_f_samples(grid, S, full_cov=False, seed=0).numpy()[..., 0]
print(f"SGHMC: distance {np.mean(np.abs(np.sort(f, axis=0) - draws)):.3f}, {chains.seconds:.0f} s")
