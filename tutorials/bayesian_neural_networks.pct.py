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
# # Bayesian neural networks with global inducing points
#
# After this tutorial you can
#
# - build and train a Bayesian neural network whose posterior is correlated across layers,
# - draw predictive bands and functions from it, and compare them with the exact posterior's,
# - say how tight the bound is that you trained,
# - choose the scale of the prior and the number of inducing points by that bound.
#
# The method is that of [Ober & Aitchison (2021)](https://arxiv.org/abs/2005.08140), "the paper".
# Numbers in parentheses behind an equation are the paper's.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import is_continuous_integration, reduce_in_tests

import gpflow_gi as gi
from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.plotting import COLOURS

tf.get_logger().setLevel("ERROR")  # and runs without its warnings

# %% [markdown]
# ## Data with a gap
#
# The toy data of the paper's section 3.1: 40 rows of $y = x^3 + \epsilon$ with $\epsilon \sim
# \mathcal{N}(0, 3^2)$, and no $x$ between -2 and 2. Both columns are standardised. A posterior is
# good if it is uncertain in the gap, and not much more uncertain than it must be.

# %%
data = Cubic.draw(40, seed=0)
X, Y = data.X, data.Y
grid = data.evenly(201, -5, 5)
gap = data.inputs.transform(np.array([-2.0, 2.0]))
print(f"X {X.shape}, Y {Y.shape}, standard deviation of the noise {data.noise_deviation:.3f}")


def data_on(ax, title):
    """The data, the gap in grey, and labels."""
    ax.axvspan(*gap, color="#F0F0F0", linewidth=0, zorder=0)
    ax.plot(X, Y, "o", color="#222222", markersize=3, zorder=5)
    ax.set(xlabel="x (standardised)", ylim=(-3, 3), title=title)
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0)


# %% [markdown]
# ## The model
#
# A network with layers of weights $W_\ell$ and a nonlinearity $\phi$. A column of weights leads
# to one unit, and has a Gaussian prior of its own:
#
# $$F_1 = X W_1, \qquad F_\ell = \phi(F_{\ell-1}) W_\ell, \qquad
# w \sim \mathcal{N}(0, \tfrac{1}{K} S_\ell) \qquad (1, 2)$$
#
# $K$ is the number of weights to a unit, the bias counted. $S_\ell = I$ is `NealPrior` (14),
# which keeps the scale of activations from layer to layer. `build_bnn` makes such a network with
# two hidden layers of 50 ReLU units. Here the noise is known, and the inducing points start
# evenly over the inputs, the gap included.


# %%
def build(inference="global", num_inducing=100, prior_scale=1.0):
    likelihood = gpflow.likelihoods.Gaussian(data.noise_deviation**2)
    gpflow.set_trainable(likelihood, False)
    return gi.architectures.build_bnn(
        X,
        Y,
        widths=(50, 50),
        inference=inference,
        nonlinearity="relu",
        prior="neal",
        prior_scale=prior_scale,
        inducing_inputs=data.evenly(num_inducing),
        likelihood=likelihood,
        seed=0,
    )


model = build()
for layer in model.layers:
    if isinstance(layer, gi.layers.DenseLayer):
        print(f"dense, {layer.num_weights} weights to each of {layer.output_dim} units,", end=" ")
        print(f"{type(layer.prior).__name__}, {type(layer.posterior).__name__}")
    else:
        print(layer.function.__name__)

# %% [markdown]
# Before anything is learned, this is what the prior says of functions. With the scale of
# `NealPrior` few functions are as steep as the data: we come back to this below.

# %%
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for f in model.sample_prior(12, seed=1)(grid):
    ax.plot(grid, f, color=COLOURS[0], linewidth=0.9, alpha=0.8)
data_on(ax, "12 functions from the prior")
ax.set_ylabel("f (standardised)")
plt.show()

# %% [markdown]
# ## The posterior
#
# $M$ *global inducing inputs* $U_0$ go through the network with the data:
#
# $$U_1 = U_0 W_1, \qquad U_\ell = \phi(U_{\ell-1}) W_\ell \qquad (10)$$
#
# In every layer there are *pseudo-outputs* $V_\ell$, one row for each inducing point, and a
# precision $\Lambda_\ell$. The approximate posterior of a layer is the exact posterior of a
# regression: of the pseudo-outputs on the activations that come up, $\Phi = \phi(U_{\ell-1})$:
#
# $$Q(w \mid W_1, \ldots, W_{\ell-1}) = \mathcal{N}(\Sigma\, \Phi^\top \Lambda v,\ \Sigma), \qquad
# \Sigma = (K S^{-1} + \Phi^\top \Lambda \Phi)^{-1} \qquad (11)$$
#
# $\Phi$ depends on the weights drawn below. So does this Gaussian, and the posterior of the whole
# network,
#
# $$Q(W_1, \ldots, W_{L+1}) = \prod_{\ell=1}^{L+1} Q(W_\ell \mid W_1, \ldots, W_{\ell-1})
# \qquad (12)$$
#
# is correlated across layers and not Gaussian. For the last layer the regression is not only
# convenient: with $U_0 = X$, $V = Y$ and $\Lambda$ the noise's precision it is the best that
# there is (6 to 9).
#
# A layer does just this. Here is (11) for the first layer in NumPy, and what the layer says of
# its units at the inducing points.

# %%
first = model.layers[0]
U0 = tf.convert_to_tensor(model.inducing_inputs)
V = first.posterior.pseudo_outputs.numpy()
Lambda = np.diag(first.posterior.pseudo_precision.numpy())

Phi = np.hstack([U0, np.ones_like(U0)])  # the inputs, and the bias
K = Phi.shape[1]
Sigma = np.linalg.inv(K * np.eye(K) + Phi.T @ Lambda @ Phi)
mean = Phi @ Sigma @ Phi.T @ Lambda @ V
variance = np.sum((Phi @ Sigma) * Phi, axis=1)

layer_mean, layer_variance = first.condition(U0).predict(U0)
print(f"largest difference of means     {np.abs(mean - layer_mean).max():.1e}")
print(f"largest difference of variances {np.abs(variance[:, None] - layer_variance).max():.1e}")

# %% [markdown]
# ## Training
#
# $U_0$ and all $V_\ell$ and $\Lambda_\ell$ are found by maximising the evidence lower bound,
#
# $$\mathcal{L} = \mathrm{E}_Q \left[ \log p(Y \mid X, W) + \sum_{\ell=1}^{L+1}
# \log \frac{P(W_\ell)}{Q(W_\ell \mid W_1, \ldots, W_{\ell-1})} \right] \qquad (13)$$
#
# with Adam. The weight of the second term rises to 1 over the first fifth of the steps. Three
# posteriors are trained, alike but for one argument: independent Gaussians over all weights;
# local inducing points, which are inputs of each layer's own; and global ones.

# %%
STEPS = reduce_in_tests(2000, 10)


def trained(steps=STEPS, **arguments):
    model = build(**arguments)
    record = gi.fit(
        model,
        (X, Y),
        steps=steps,
        learning_rate=lambda step: tf.where(step < steps // 2, 0.03, 0.003),
        kl_warmup=steps // 5,
        progress=False,
        seed=0,
    )
    return model, record


METHODS = ("factorised", "local", "global")
models, records = {}, {}
for method in METHODS:
    models[method], records[method] = trained(inference=method)
    elbo = gi.bounds.estimate_elbo(models[method], (X, Y), reduce_in_tests(500, 4))
    print(f"{method:>10}: ELBO {elbo.value:7.1f} ± {elbo.standard_error:.1f} nats")

# %%
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
gi.plotting.training_curves(records, ax)
plt.show()

# %% [markdown]
# Global inducing points have by far the best bound, and get there first. (`reduce_in_tests`
# shortens the run where this page is tested.)
#
# ## Predictions
#
# The network is small enough for its exact posterior: `gi.inference.nuts` draws from it (the
# No-U-Turn sampler), and gives a model with the same methods. R-hat near 1 says that its chains
# agree on the function values.

# %%
exact = gi.inference.nuts(
    build(inference="factorised"),
    (X, Y),
    num_chains=reduce_in_tests(4),
    num_draws=reduce_in_tests(150, 4),
    num_adaptation_steps=reduce_in_tests(100, 10),
    max_tree_depth=reduce_in_tests(8, 2),
    jit_compile=not is_continuous_integration(),
    seed=0,
)
models["exact (NUTS)"] = exact.model
print(f"largest R-hat of f at the data {np.max(exact.r_hat['f']):.2f}")

# %%
draws = {
    name: model.predict_f_samples(grid, reduce_in_tests(800, 8), full_cov=False, seed=0)[..., 0]
    for name, model in models.items()
}
fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), sharey=True, layout="constrained")
reference = draws["exact (NUTS)"]
for ax, (name, f) in zip(axes, draws.items(), strict=True):
    colour = COLOURS[3] if "NUTS" in name else COLOURS[0]
    mean, deviation = np.mean(f, axis=0), np.std(f, axis=0)
    for width in (1, 2):
        low, high = mean - width * deviation, mean + width * deviation
        ax.fill_between(grid[:, 0], low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(grid, mean, color=colour)
    for side in (-2, 2):
        edge = np.mean(reference, axis=0) + side * np.std(reference, axis=0)
        ax.plot(grid, edge, color=COLOURS[3], linewidth=0.9, linestyle="--")
    data_on(ax, name)
axes[0].set_ylabel("f (standardised)")
fig.suptitle("One and two standard deviations of f; dashed: two of the exact posterior")
plt.show()

# %%
in_gap = (gap[0] < grid[:, 0]) & (grid[:, 0] < gap[1])
print("Mean standard deviation of f in the gap:")
for name, f in draws.items():
    print(f"{name:>14}  {np.std(f, axis=0)[in_gap].mean():.3f}")

# %% [markdown]
# Over all inputs, the global posterior is the nearest to the exact one. In the gap it is somewhat
# too uncertain, by about as much as the local one is too sure; the factorised posterior has less
# than half of the exact one's deviation there. At the data these two are too uncertain.
# `sample_functions` draws whole functions, which give the same value at every call.

# %%
fig, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    for f in model.sample_functions(12, seed=2)(grid):
        colour = COLOURS[3] if "NUTS" in name else COLOURS[0]
        ax.plot(grid, f, color=colour, linewidth=0.9, alpha=0.8)
    data_on(ax, name)
axes[0].set_ylabel("f (standardised)")
fig.suptitle("12 functions from each posterior")
plt.show()

# %% [markdown]
# Under the factorised and the local posterior all functions are nearly the same in the gap: flat,
# with a kink towards each end.
#
# ## How tight is the bound?
#
# The ELBO lies below the log evidence by the KL divergence from the approximate posterior to the
# exact one. An importance weighted bound (IWBO) of $S$ draws, $\mathrm{E}\, \log \frac{1}{S} \sum_s
# w_s$ with $w = p(Y, W) / Q(W)$, rises from the ELBO at $S = 1$ towards the log evidence. Where
# it stops rising, the distance between the two is about what the approximation costs.

# %%
NUMBERS = (1, 3, 10, 30, 100, 300, 1000)[: reduce_in_tests(7)]
rows = (X, Y)
elbo = gi.bounds.estimate_elbo(models["global"], rows, reduce_in_tests(1000, 4))
iwbos = [
    gi.bounds.estimate_iwbo(models["global"], rows, S, num_repeats=max(10, 300 // S))
    for S in NUMBERS
]
print(f"ELBO {elbo.value:.2f} ± {elbo.standard_error:.2f}")
for S, iwbo in zip(NUMBERS, iwbos, strict=True):
    print(f"IWBO of {S:>4} draws {iwbo.value:.2f} ± {iwbo.standard_error:.2f}")

# %%
fig, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
values, errors = np.transpose(iwbos)
ax.axhline(elbo.value, color=COLOURS[0], linestyle="--", label="ELBO")
ax.errorbar(NUMBERS, values, 2 * errors, fmt="o-", color=COLOURS[1], markersize=4, label="IWBO")
ax.set(xscale="log", xlabel="draws S", ylabel="bound (nats)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# Bars are two standard errors. From 300 to 1000 draws the IWBO rises by less than its error, which
# does not say that it has reached the log evidence. At 1000 draws it is 33 nats above the ELBO:
# with this prior the approximation costs at least about that much.
#
# ## The scale of the prior
#
# A bound that is tight can choose what the evidence would choose. `prior_scale` is a factor on
# the standard deviation of the weights' prior.


# %%
def bounds(**arguments):
    model, _ = trained(reduce_in_tests(1000, 5), **arguments)
    elbo = model.elbo(rows, num_samples=reduce_in_tests(500, 4), seed=0)
    iwbo = gi.bounds.estimate_iwbo(model, rows, reduce_in_tests(500, 4), num_repeats=5)
    return float(elbo), iwbo.value


SCALES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)[: reduce_in_tests(6)]
by_scale = np.array([bounds(prior_scale=scale) for scale in SCALES])
for scale, (elbo, iwbo) in zip(SCALES, by_scale, strict=True):
    print(f"prior scale {scale:3.1f}: ELBO {elbo:7.1f}, IWBO {iwbo:7.1f}")
best = SCALES[int(np.argmax(by_scale[:, 0]))]
print(f"best by the ELBO: {best}; by the IWBO: {SCALES[int(np.argmax(by_scale[:, 1]))]}")

# %% [markdown]
# ## The number of inducing points
#
# At the best of these scales, how many inducing points does it take?

# %%
INDUCING = (2, 5, 10, 20, 50)[: reduce_in_tests(5)]
by_number = np.array([bounds(num_inducing=M, prior_scale=best) for M in INDUCING])
for M, (elbo, iwbo) in zip(INDUCING, by_number, strict=True):
    print(f"{M:>3} inducing points: ELBO {elbo:7.1f}, IWBO {iwbo:7.1f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for ax, values, both, label in [
    (axes[0], SCALES, by_scale, "factor on the prior's standard deviation"),
    (axes[1], INDUCING, by_number, "inducing points"),
]:
    for bound, name, colour in zip(both.T, ("ELBO", "IWBO"), COLOURS, strict=False):
        ax.plot(values, bound, "o-", color=colour, markersize=4, label=name)
    ax.set(xscale="log", xlabel=label, ylabel="bound (nats)")
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()
    ax.set_yscale("symlog", linthresh=30)
    ax.set_yticks([-300, -100, -30, 0, 20], ["-300", "-100", "-30", "0", "20"])
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)
plt.show()

# %% [markdown]
# (The vertical axes are logarithmic beyond 30 nats.) The scale of the prior is worth as much as
# the choice of the posterior, hundreds of nats, and both bounds choose the same scale of this grid.
# They are close where the prior suits the data: a posterior near a good prior is easier to
# approximate. Two inducing points are hopeless; ten are nearly enough; and soon there is nothing
# more to gain.
#
# ## What to try next
#
# - The same with more rows, longer training and standard errors over starts: `gpflow-gi
#   experiment toy`, `toy-iwbo`, `prior-scale`, `num-inducing`, and [what they came
#   to](../docs/experiments.md).
# - `prior="scale"` learns a scale for each layer, with a prior and a posterior of its own (16 to
#   18).
# - `inference="factorised -> global"`: cheap posteriors below, a global last layer.
# - The next tutorial does the same with Gaussian processes in the place of weights: [deep GPs,
#   global and local](deep_gps_global_and_local.ipynb).
