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
# # Depth: why factorised posteriors fail
#
# After this tutorial you can
#
# - say, by a picture of two weights, what a posterior loses that is independent from layer to
#   layer,
# - repeat the paper's experiment on deep linear networks, and read off what each posterior loses
#   with depth,
# - choose a posterior for a deep network: where a global layer is needed, and where a cheap one
#   will do.
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
from gpflow_gi.experiments import deep_linear
from gpflow_gi.plotting import COLOURS


def trained(model, data, steps, learning_rate=0.03):
    """The model after training; the learning rate falls to a hundredth in the second half."""
    gi.fit(
        model,
        data,
        steps=steps,
        learning_rate=lambda step: (
            learning_rate * 0.01 ** tf.maximum(2 * tf.cast(step, tf.float32) / steps - 1, 0)
        ),
        progress=False,
    )
    return model


# %% [markdown]
# ## Two weights
#
# The smallest deep network has one unit, no nonlinearity and two weights: $f(x) = w_2 w_1 x$. Its
# prior is standard normal, and its posterior can be drawn. Data tell the product $w_1 w_2$, and
# nothing else: whatever $w_1$ is, $w_2$ must make up for it.

# %%
NOISE = 0.1
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 1))
Y = 1.0 * X + np.sqrt(NOISE) * rng.normal(size=X.shape)

weights = np.linspace(-3.5, 3.5, 701)
w1, w2 = np.meshgrid(weights, weights, indexing="ij")
residuals = Y - (w1 * w2).reshape(1, -1) * X
log_joint = (
    -0.5 * (w1**2 + w2**2).ravel()
    - np.log(2 * np.pi)
    - 0.5 * np.sum(residuals**2, axis=0) / NOISE
    - 0.5 * len(X) * np.log(2 * np.pi * NOISE)
).reshape(w1.shape)
evidence = np.log(np.sum(np.exp(log_joint - log_joint.max()))) + log_joint.max()
evidence += 2 * np.log(weights[1] - weights[0])
print(f"log evidence {evidence:.3f} nats, by summing over the grid")


# %%
def two_weights(inference):
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    gpflow.set_trainable(likelihood, False)
    model = gi.architectures.build_bnn(
        X,
        Y,
        widths=(1,),
        inference=inference,
        nonlinearity="identity",
        bias=False,
        num_inducing=30,
        likelihood=likelihood,
        seed=1,
    )
    return trained(model, (X, Y), reduce_in_tests(2000, 5))


def drawn_weights(model, num_samples):
    """Draws of w1 and w2, [S] each."""
    seed = tf.constant([0, 0])
    below = model.propagate(tf.constant(X), num_samples, seed, draw_all=True)
    first, last = below.hidden[0], below.last.draw(num_samples, seed + 1)
    return first.weights[:, 0, 0], last.weights[:, 0, 0]


fig, axes = plt.subplots(1, 3, figsize=(11, 3.7), sharex=True, sharey=True, layout="constrained")
posterior = np.exp(log_joint - log_joint.max())
for ax, inference in zip(axes, (None, "factorised", "global"), strict=True):
    levels = posterior.max() * np.array([0.01, 0.1, 0.5])
    ax.contour(w1, w2, posterior, levels=levels, colors="#555555", linewidths=0.9)
    ax.set(xlabel="w₁", title=inference or "exact posterior")
    ax.title.set_size("medium")
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    if inference:
        model = two_weights(inference)
        colour = COLOURS[0] if inference == "factorised" else COLOURS[3]  # as in the figure below
        ax.plot(*drawn_weights(model, 500), "o", color=colour, markersize=2, alpha=0.6)
        elbo = gi.bounds.estimate_elbo(model, (X, Y), reduce_in_tests(2000, 20))
        print(f"{inference:>10}: evidence - ELBO = {evidence - elbo.value:.2f} nats")
    else:
        ax.contourf(
            w1, w2, posterior, levels=[*levels, 1.01 * posterior.max()], cmap="Greys", alpha=0.6
        )
axes[0].set_ylabel("w₂")
axes[0].set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))
plt.show()

# %% [markdown]
# Grey lines are contours of the exact posterior, dots are draws from its approximations.
# Independent Gaussians must fit into the ridge with their axes upright: they take one small part
# of it. The global posterior draws $w_1$, and then $w_2$ *given* $w_1$, by a regression on what
# comes up (11): it follows the ridge. Which of the two ridges one gets is chance: with both signs
# turned, the function is the same. Half of the evidence lies in the other ridge, so that
# whoever takes one of them loses log 2 = 0.69 nats. That is most of what the global posterior
# loses, and a small part of what the factorised one does.
#
# ## Deep linear networks
#
# The paper's section 3.2: 1000 rows of five inputs, a linear target, and networks of linear
# layers, with 50 units here. All of them, of any depth, say the same of the data: a linear
# function. So the evidence of the linear model that the data were drawn from is what a bound could
# at best come near. In networks as wide as these, nearly all that is missing is the fault of the
# approximation.

# %%
data = deep_linear.draw_data(seed=0)
evidence = deep_linear.log_evidence(*data)
METHODS = ("factorised", "local", "prior -> global", "global")
DEPTHS = (1, 2, 4, 6)[: reduce_in_tests(4)]
models = {
    (method, depth): trained(
        deep_linear.untrained_network(data, 50, depth, method, num_inducing=30, seed=0),
        data,
        reduce_in_tests(800, 3),
    )
    for method in METHODS
    for depth in DEPTHS
}
terms = {
    key: model.bound_terms(data, num_samples=reduce_in_tests(100, 2), seed=0)
    for key, model in models.items()
}
elbos = {key: float(fit - kl) for key, (fit, kl) in terms.items()}
print(f"evidence of the linear model {evidence:.0f} nats; what the ELBO is below it:")
print(f"{'layers':>22}" + "".join(f"{depth:>8}" for depth in DEPTHS))
for method in METHODS:
    missing = (evidence - elbos[method, depth] for depth in DEPTHS)
    print(f"{method:>22}" + "".join(f"{nats:>8.1f}" for nats in missing))

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for method, colour, marker in zip(METHODS, COLOURS, "osD^", strict=False):
    missing = [max(evidence - elbos[method, depth], 0.1) for depth in DEPTHS]
    ax.plot(DEPTHS, missing, marker=marker, color=colour, markersize=5, label=method)
ax.set(yscale="log", xlabel="layers of weights", ylabel="evidence - ELBO (nats)", xticks=DEPTHS)
ax.spines[["top", "right"]].set_visible(False)
ax.grid(color="#E5E5E5", linewidth=0.6)
ax.legend(frameon=False, loc="center right")
plt.show()

# %% [markdown]
# What is less than 0.1 nats is drawn at 0.1. With one layer there is little to lose; with the
# first hidden layer, independent posteriors are hundreds of nats off, and those with a global
# last layer a nat or so.
#
# Where do the nats go? A bound is an expected log likelihood minus the KL divergences of the
# layers. With the weights known, these data would have about the log likelihood of the first row
# below.

# %%
depth = DEPTHS[-2]
noise = deep_linear.NOISE_VARIANCE
best = -0.5 * len(data[0]) * (np.log(2 * np.pi * noise) + 1)
print(f"{depth} layers{'':>14}  E log likelihood  KL divergence")
print(f"{'weights known':>22}  {best:>16.0f}  {0:>13}")
for method in METHODS:
    fit, kl = terms[method, depth]
    print(f"{method:>22}  {fit:>16.0f}  {kl:>13.0f}")

# %% [markdown]
# Independent posteriors lose both ways. Each layer must make its weights nearly certain, or else
# the product of the layers varies too much; that certainty is what the KL divergence charges for,
# layer by layer. And what variation is left is noise to the layers above, which costs likelihood.
# A global last layer sees what came up, whatever it was, and regresses on it: layers below may
# then be as uncertain as the prior.
#
# ## What to take from this
#
# - In a deep network, make the last layer global. That repairs most of what is lost, even above
#   layers that are drawn from the prior, if these are wide.
# - In narrow networks the lower layers matter, and global ones are the best there: [the
#   experiment at widths 5, 50 and
#   250](../docs/experiments.md#depth-and-width-of-linear-networks), down to ten layers.
# - Independence between layers is what fails, not independence within one: `"local"` posteriors
#   are correlated within each layer.
#
# ## What to try next
#
# - `gpflow-gi experiment deep-linear` for the whole figure of the paper, or `--fast` for a minute
#   of it.
# - `nonlinearity="relu"` in `build_bnn`: is it the same where the evidence is not known? Compare
#   ELBO and IWBO instead, as in [Bayesian neural networks](bayesian_neural_networks.ipynb).
# - A posterior of your own between these: [your own layer](your_own_layer.ipynb).
