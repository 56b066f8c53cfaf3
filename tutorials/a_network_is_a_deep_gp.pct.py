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
# # A Bayesian neural network is a deep GP
#
# After this tutorial you can
#
# - put a layer of a Bayesian neural network, as a kernel, into GPflow's `GPR` and `SVGP` and into
#   `GPLayer`,
# - say when two models with different names are the same model, and check it by number,
# - choose between the two forms of a layer: weights, or functions.
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

# Matrices below are singular on purpose: the less is added to their diagonals, the better.
gpflow.config.set_default_jitter(1e-10)

# %% [markdown]
# ## Integrate out the weights
#
# A layer's outputs are $F = \phi(X) W$, where the columns $w$ of $W$ have independent priors
# $\mathcal{N}(0, \frac{1}{K} S)$ and $K$ counts the weights of a column, the bias included. A sum
# of Gaussians is Gaussian. So the outputs of the layer, at all inputs together, are a Gaussian
# process. Its mean is zero, and its kernel
#
# $$k(x, x') = \tfrac{1}{K}\, \phi(x)^\top S\, \phi(x') \qquad (20)$$
#
# That is `gi.kernels.BNNKernel`, a GPflow kernel like any other. Below, draws of weights beside
# draws of the process.

# %%
X = np.linspace(-3, 3, 60)[:, None]
kernel = gi.kernels.BNNKernel(1, "relu")  # phi(x) = [relu(x), 1], S = I
rng = np.random.default_rng(0)

phi = np.hstack([np.maximum(X, 0), np.ones_like(X)])
by_weights = phi @ rng.normal(size=(2, 2000)) / np.sqrt(2)
by_kernel = np.linalg.cholesky(kernel(X) + 1e-10 * np.eye(60)) @ rng.normal(size=(60, 2000))

fig, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, layout="constrained")
for ax, draws, title in zip(
    axes, (by_weights, by_kernel), ("drawn weights", "drawn functions"), strict=True
):
    ax.plot(X, draws[:, :15], color=COLOURS[0], linewidth=0.8, alpha=0.8)
    ax.set(xlabel="x", title=title)
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("output of one unit")
plt.show()
for name, draws in (("weights", by_weights), ("functions", by_kernel)):
    print(f"standard deviation at x = 3 of 2000 drawn {name}: {draws[-1].std():.3f}")
print(f"by the kernel: {np.sqrt(kernel(X, full_cov=False)[-1]):.3f}")

# %% [markdown]
# ## In GPflow's GPR
#
# The last layer of a network sees activations, not data. Here is a network with one hidden layer
# of 20 ReLU units, whose weights $W_1$ are drawn once and then kept. What is random is the last
# layer, and what it is fitted to are 100 targets. Its weights have ten times the standard
# deviation of `NealPrior` (14), which these targets ask for.

# %%
N, WIDTH, NOISE, SCALE = 100, 20, 0.1, 10.0
X = rng.uniform(-2, 2, size=(N, 1))
Y = np.sin(2 * X) + np.sqrt(NOISE) * rng.normal(size=(N, 1))
W1 = rng.normal(size=(2, WIDTH)) / np.sqrt(2)


def below(X):
    """The activations that the last layer sees, before its nonlinearity: [N, 1] -> [N, 20]."""
    X = tf.convert_to_tensor(X, gpflow.default_float())
    return tf.concat([X, tf.ones_like(X)], axis=1) @ W1


H = below(X).numpy()

# %% [markdown]
# Three ways to the evidence of that layer: Bayesian linear regression, written out in NumPy in
# the space of the 21 weights; GPflow's `GPR` with the kernel (20); and a network of this library
# whose inducing inputs are the data, whose pseudo-outputs are the targets and whose precision is
# that of the noise. Then (11) is the exact posterior, and the bound is the evidence.

# %%
# 1. Weights: log p(Y) = log p(Y | w) + log p(w) - log p(w | Y), at the posterior mean of w
phi = np.hstack([np.maximum(H, 0), np.ones((N, 1))])
K = phi.shape[1]
precision = K / SCALE**2  # of a weight under the prior
A = precision * np.eye(K) + phi.T @ phi / NOISE
w = np.linalg.solve(A, phi.T @ Y / NOISE)
by_weights = -0.5 * (
    np.sum((Y - phi @ w) ** 2) / NOISE
    + N * np.log(2 * np.pi * NOISE)
    + precision * np.sum(w**2)
    - K * np.log(precision)
    + np.linalg.slogdet(A)[1]
)

# 2. Functions
kernel = gi.kernels.BNNKernel(WIDTH, "relu", variance=SCALE**2)
gpr = gpflow.models.GPR((H, Y), kernel, noise_variance=NOISE)

# 3. Global inducing points
posterior = gi.posteriors.GlobalInducing(N, 1, pseudo_outputs=Y, pseudo_precision=1 / NOISE)
network = gi.models.DeepGP(
    [
        below,
        tf.nn.relu,
        gi.layers.DenseLayer(WIDTH, 1, posterior, prior=gi.priors.NealPrior(SCALE)),
    ],
    gpflow.likelihoods.Gaussian(NOISE),
    num_data=N,
    inducing_inputs=X,
)

print(f"Bayesian linear regression  {by_weights:.8f}")
print(f"GPR with BNNKernel          {gpr.log_marginal_likelihood():.8f}")
print(f"DenseLayer, U = X, V = Y    {network.elbo((X, Y)):.8f}")

# %%
grid = np.linspace(-3, 3, 200)[:, None]
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (mean, variance), colour, style, name in [
    (gpr.predict_f(below(grid)), COLOURS[1], "-", "GPR with BNNKernel"),
    (network.predict_f(grid), COLOURS[0], "--", "DenseLayer"),
]:
    mean, deviation = np.ravel(mean), np.sqrt(np.ravel(variance))
    ax.plot(grid, mean, style, color=colour, linewidth=2, label=name)
    ax.plot(grid, mean - 2 * deviation, style, color=colour, linewidth=1)
    ax.plot(grid, mean + 2 * deviation, style, color=colour, linewidth=1)
ax.plot(X, Y, "o", color="#222222", markersize=2.5)
ax.set(xlabel="x", ylabel="f, two standard deviations")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## In GPflow's SVGP
#
# The kernel has 21 degrees of freedom: one for each weight. So 21 inducing points are enough to
# say all that can be said of the function, whatever the number of rows. A step of natural
# gradient of length 1 takes a Gaussian likelihood's SVGP to its optimum, for any number of
# inducing points.

# %%
NUMBERS = range(1, K + 1, 2)
Z = rng.normal(size=(K, WIDTH))  # anywhere in the space of activations
missing = []
for M in NUMBERS:
    svgp = gpflow.models.SVGP(kernel, gpflow.likelihoods.Gaussian(NOISE), Z[:M], num_data=N)
    natural = gpflow.optimizers.NaturalGradient(gamma=1.0)
    natural.minimize(svgp.training_loss_closure((H, Y), compile=False), [(svgp.q_mu, svgp.q_sqrt)])
    missing.append(by_weights - float(svgp.elbo((H, Y))))

fig, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(NUMBERS, np.maximum(missing, 1e-9), "o-", color=COLOURS[0], markersize=4)
ax.set(yscale="log", xlabel="inducing points", ylabel="evidence - SVGP's bound (nats)")
ax.set_xticks(NUMBERS)
ax.grid(color="#E5E5E5", linewidth=0.6)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"{K - 2} inducing points: evidence - bound = {missing[-2]:.1e} nats")
print(f"{K} inducing points: evidence - bound = {missing[-1]:.1e} nats")

# %% [markdown]
# With as many inducing points as weights, the bound is the evidence, up to the jitter. With
# fewer, something is left that no $q$ can say.
#
# ## In GPLayer
#
# Now all layers at once. A network of three layers of weights, and its twin of three GP layers
# with the kernels (20). They share one object for each posterior: the same pseudo-outputs, the
# same precisions.

# %%
network = gi.architectures.build_bnn(X, Y, widths=(20, 20), num_inducing=15, seed=0)
dense = [layer for layer in network.layers if isinstance(layer, gi.layers.DenseLayer)]
twin = gi.models.DeepGP(
    [
        gi.layers.GPLayer(
            gi.kernels.BNNKernel(layer.input_dim, "identity" if layer is dense[0] else "relu"),
            layer.output_dim,
            layer.posterior,
        )
        for layer in dense
    ],
    network.likelihood,
    num_data=N,
    inducing_inputs=network.inducing_inputs,
)

# %% [markdown]
# Given the same activations from below, each pair of layers has the same Gaussian at every input,
# and the same KL divergence.

# %%
for i, (weights, functions) in enumerate(zip(dense, twin.layers, strict=True), start=1):
    U, F = (tf.constant(rng.normal(size=(rows, weights.input_dim))) for rows in (15, 50))
    # The GP layer takes the activations before the nonlinearity, which its kernel applies.
    phi = tf.identity if i == 1 else tf.nn.relu
    a, b = weights.condition(phi(U)), functions.condition(U)
    means, variances = zip(a.predict(phi(F)), b.predict(F), strict=True)
    print(
        f"layer {i}: means differ by at most {np.abs(np.subtract(*means)).max():.0e}, variances "
        f"by {np.abs(np.subtract(*variances)).max():.0e}; KL {a.kl():.5f} and {b.kl():.5f}"
    )

# %% [markdown]
# The bound of the whole is an expectation over draws, and the two draw in different ways: weights
# here, functions there. So their bounds agree in expectation. The difference is to be compared
# with its standard error.

# %%
samples = reduce_in_tests(4000, 40)
bounds = [gi.bounds.estimate_elbo(model, (X, Y), samples) for model in (network, twin)]
for name, bound in zip(("weights", "functions"), bounds, strict=True):
    print(f"ELBO, {name:>9}: {bound.value:8.3f} ± {bound.standard_error:.3f}")
error = np.hypot(*(bound.standard_error for bound in bounds))
print(f"difference: {(bounds[0].value - bounds[1].value) / error:.1f} standard errors")

# %% [markdown]
# ## From networks to other deep GPs
#
# With more and more units, the kernel (20) of the second layer stops being random. By the law of
# large numbers $\frac{1}{K} \phi(F)\, \phi(F)^\top$ goes to its mean, which for ReLU units is
# known in closed form: GPflow's `ArcCosine` kernel of order 1. A wide network is a GP from its
# inputs on, and what is "deep" in it is gone.

# %%
x = np.linspace(-2, 2, 80)[:, None]
limit = gpflow.kernels.ArcCosine(order=1, variance=0.5, weight_variances=0.5, bias_variance=0.5)(x)
WIDTHS = (5, 50, 500, 5000)
fig, axes = plt.subplots(1, 5, figsize=(12, 2.7), sharey=True, layout="constrained")
for ax, width in zip(axes, WIDTHS, strict=False):
    first = np.hstack([x, np.ones_like(x)]) @ rng.normal(size=(2, width)) / np.sqrt(2)
    second = gi.kernels.BNNKernel(width, "relu", bias=False)(first)
    ax.imshow(second, extent=(-2, 2, 2, -2), vmin=0, vmax=limit.numpy().max())
    ax.set_title(f"{width} units", size="medium")
    print(f"{width:>4} units: largest distance from the limit {np.abs(second - limit).max():.3f}")
image = axes[-1].imshow(limit, extent=(-2, 2, 2, -2), vmin=0, vmax=limit.numpy().max())
axes[-1].set_title("limit: ArcCosine", size="medium")
for ax in axes:
    ax.set_xlabel("x'")
axes[0].set_ylabel("x")
fig.colorbar(image, ax=axes, label="k(x, x')")
plt.show()

# %% [markdown]
# ## Which form to take
#
# | | `DenseLayer` | `GPLayer(BNNKernel(...))` |
# |---|---|---|
# | time of a layer | K³ + (M + N) K², or less if M is at most K / 2 | M³ + N M² |
# | singular kernel matrix with M > K | does not occur: no kernel matrix | needs jitter |
# | a draw is | K weights, a function for ever | values, drawn jointly where asked |
# | composes with | priors with a random scale | other kernels, in sums and products |
#
# The first is the one to train. The second is the one to think with, and to build from: with a
# squared exponential added, it is a layer of weights and what weights cannot say.
#
# ## What to try next
#
# - `gpflow.models.GPR((X, Y), gi.kernels.BNNKernel(1, "erf") +
#   gpflow.kernels.SquaredExponential())`: a layer and a residual.
# - [Depth](depth.ipynb): what goes wrong in deep networks when layers' posteriors are
#   independent.
# - [Your own layer](your_own_layer.ipynb), of which all of these are examples.
