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
# # Designing the runs of a simulator, one after the other
#
# After this tutorial you can
#
# - replace a simulator that takes hours by an emulator that takes milliseconds,
# - let the emulator choose the next run, by how much it would learn from it,
# - say when a deep Gaussian process is worth its time as an emulator, and when a GP is enough.
#
# Simulators often have cliffs: a flow that separates, a market that breaks, a plate that buckles.
# A stationary kernel has one lengthscale for the cliff and for the plain on both sides. It takes
# the short one, is uncertain everywhere, and asks for runs everywhere. A deep GP can stretch its
# inputs where much happens.

# %%
import os
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.plotting import COLOURS

warnings.simplefilter("ignore", gi.training.ConvergenceWarning)  # bounds that still rise a little

# %% [markdown]
# ## The simulator
#
# One input, no noise, and a cliff at 0.6 that is a few hundredths wide. The first six runs are evenly
# spaced. Its values are of the size of one, as models expect.


# %%
def simulator(x):
    """[N, 1] in [0, 1] -> [N, 1]."""
    return np.tanh((x - 0.6) / 0.02) + 0.3 * np.sin(4 * x)


START, RUNS = 6, reduce_in_tests(20, 8)
first = np.linspace(0.02, 0.98, START)[:, None]
everywhere = np.linspace(0, 1, 301)[:, None]
truth = simulator(everywhere)

# %% [markdown]
# ## The loop
#
# `train` builds and trains a model. One layer is a GP, two layers are a deep GP; all else is the
# same. Now and then the training of a deep GP ends in a poor optimum: `emulate` trains it from two
# seeds, and keeps the one with the higher bound. `next_run` asks for the input at which a run would most reduce the variance, averaged over
# all inputs: `integrated_variance_reduction` (Cohn, Ghahramani & Jordan 1996), of which
# `gi.design.search` finds the maximum. The plain variance would prefer the edges, behind which
# nothing is known and nobody asks.


# %%
def train(X, num_layers, seed):
    likelihood = gpflow.likelihoods.Gaussian(1e-4)  # the simulator has no noise
    gpflow.set_trainable(likelihood, False)
    data = 2 * X - 1, simulator(X)
    model = gi.architectures.build_deep_gp(
        *data, num_layers=num_layers, num_inducing=len(X), likelihood=likelihood
    )
    steps = reduce_in_tests(1500, 2)
    rate = gi.training.LinearTail(0.02, steps)
    gi.fit(
        model,
        data,
        steps=steps,
        learning_rate=rate,
        kl_warmup=steps // 3,
        progress=False,
        seed=seed,
    )
    return gi.bounds.estimate_elbo(model, data, 50).value, model


def emulate(X, num_layers):
    runs = [train(X, num_layers, seed) for seed in range(num_layers)]
    return max(runs, key=lambda run: run[0])[1]


def next_run(model, X):
    references = np.linspace(-1, 1, 101)[:, None]
    x, _ = gi.design.search(
        lambda x: gi.design.integrated_variance_reduction(
            model, x, references, num_samples=20, seed=0
        ),
        [-1],
        [1],
        num_candidates=128,
        num_starts=0,
        seed=len(X),
    )
    return (x[None] + 1) / 2


designs = {"GP": (1, first), "deep GP": (2, first)}
errors = {name: [] for name in designs}
models = {}
for number in range(START, RUNS + 1):
    for name, (num_layers, X) in designs.items():
        models[name] = emulate(X, num_layers)
        mean, _ = models[name].predict_f(2 * everywhere - 1, num_samples=100, seed=0)
        errors[name].append(gi.metrics.rmse(truth, mean))
        if number < RUNS:
            designs[name] = num_layers, np.vstack([X, next_run(models[name], X)])
    print(number, {name: round(error[-1], 3) for name, error in errors.items()})

# %% [markdown]
# ## What came out
#
# Above, each emulator after its last run: mean, two standard deviations, and the runs, the first
# six in white. Below, the error of the mean over the whole interval after each run.

# %%
mosaic = plt.figure(figsize=(11, 6), layout="constrained").subplot_mosaic(
    [[*designs], ["error"] * 2]
)
for colour, (name, (_, X)) in zip(COLOURS, designs.items(), strict=False):
    mean, variance = (m.numpy()[:, 0] for m in models[name].predict_f(2 * everywhere - 1, seed=0))
    ax = mosaic[name]
    ax.plot(everywhere, truth, "0.6", linestyle="--", label="simulator")
    ax.plot(everywhere, mean, color=colour, label="mean")
    spread = 2 * np.sqrt(variance)
    ax.fill_between(everywhere[:, 0], mean - spread, mean + spread, color=colour, alpha=0.2)
    ax.scatter(X[START:], simulator(X[START:]), color=colour, zorder=3, label="chosen runs")
    ax.scatter(X[:START], simulator(X[:START]), c="w", edgecolors="k", zorder=3, label="first runs")
    ax.set(title=f"{name}, {len(X)} runs", xlabel="x", ylabel="f", ylim=(-2, 2))
    mosaic["error"].plot(range(START, RUNS + 1), errors[name], "o-", color=colour, label=name)
mosaic["GP"].legend(frameon=False, loc="upper left")
mosaic["error"].set(yscale="log", xlabel="runs", ylabel="RMSE", title="error of the mean")
mosaic["error"].legend(frameon=False)
for ax in mosaic.values():
    ax.spines[["top", "right"]].set_visible(False)
    ax.title.set_size("medium")
plt.show()

# %% [markdown]
# The GP is as uncertain on the plain as at the cliff, and spreads its runs. The deep GP knows that the
# plain is smooth: from the eighth run on its error is half of the GP's or less, with one exception.
# With 17 runs both of its trainings ended in a poor optimum. The runs are not lost, and the next training
# starts anew; more seeds would cost nothing but time.
#
# ## What to try next
#
# - Another aim changes one line of `next_run`: `gi.design.expected_improvement` for the lowest
#   value, `gi.design.contour_improvement(model, X, level=0.0)` for the place of the cliff itself.
# - More inputs: `gi.design.search` takes boxes of any dimension, and `num_starts=5` refines the
#   candidates by their gradients.
# - Noise: leave out the likelihood, and it is learned. The reduction of the variance then counts
#   what a noisy run teaches.
