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
# # Processes that can only be drawn
#
# After this tutorial you can
#
# - write a prior over functions that can be drawn but has no density,
# - train it as a variational implicit process, shallow or deep, and check the bound against an exact value,
# - train a sparse implicit process, whose predictions may have several modes, and say what was maximised.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import warnings

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.implicit import KernelProcess, NetworkProcess, NeuralSampler, empirical_gp
from gpflow_gi.plotting import COLOURS

warnings.filterwarnings("ignore", category=UserWarning)
tf.get_logger().setLevel("ERROR")

# %% [markdown]
# ## A process is what can be drawn
#
# A process has one method, `draw(S)`, which returns S functions. The random numbers are fixed by its seed:
# if a parameter changes, the functions change smoothly. A network with learned Gaussian weights, a network
# on inputs and noise, and a Gaussian process passed through a function:

# %%
grid = np.linspace(-3, 3, 121)[:, None]
processes = {
    "NetworkProcess": NetworkProcess(1),
    "NeuralSampler": NeuralSampler(1),
    "KernelProcess, warped": KernelProcess(gpflow.kernels.Matern52(), 1, warp=tf.exp),
}
fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
for ax, (name, process) in zip(axes, processes.items(), strict=True):
    ax.plot(grid, process.draw(12)(grid).numpy()[..., 0].T, color=COLOURS[1], linewidth=0.8)
    ax.set_title(name, fontsize="small")

# %% [markdown]
# ## The draws are a basis
#
# The mean and the covariance of S draws define a Gaussian process, and a linear model with S weights:
# f = m + phi^T z. As a kernel it works in all of GPflow; its rank is at most S - 1.

# %%
process = NetworkProcess(1)
kernel, mean = empirical_gp(process, num_draws=20)
print("rank of the kernel at 121 inputs:", np.linalg.matrix_rank(kernel(grid).numpy(), tol=1e-12))

# %% [markdown]
# A variational implicit process is a layer with this basis and a free Gaussian over z. With the process and
# the noise held fixed the bound can be checked: it may not exceed the log evidence of exact regression with
# the same kernel and mean.

# %%
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (60, 1))
Y = np.sin(2 * X) + 0.3 * rng.normal(size=X.shape)
layer = gi.layers.ImplicitLayer(process, 1, gi.posteriors.FullGaussian(), num_draws=20)
model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(0.09), num_data=60)
gpflow.set_trainable(process, False)
gpflow.set_trainable(model.likelihood, False)
gi.fit(model, (X, Y), steps=reduce_in_tests(3000), learning_rate=0.02, progress=False)
exact = gpflow.models.GPR((X, Y), kernel, mean, noise_variance=0.09)
print(f"bound {model.elbo((X, Y)):.2f}, log evidence {exact.log_marginal_likelihood():.2f}")

# %% [markdown]
# Usually the process is trained too: the bound is then maximised over the prior's parameters, as with a
# kernel's. `build_vip` starts at the exact q(z), and `num_layers` makes the process deep. But a kernel has a
# few parameters, and this process has 5,502, a mean and a scale for each weight. A prior can fit the
# rows by itself: the bound then says little about new rows. The targets have noise of standard deviation
# 0.3, so that no prediction of new rows has a mean log density above -0.21.

# %%
Xnew = rng.uniform(-2, 2, (1000, 1))
new = Xnew, np.sin(2 * Xnew) + 0.3 * rng.normal(size=Xnew.shape)


def per_row(model):
    bound = gi.bounds.estimate_elbo(model, (X, Y), 50, seed=0).value / 60
    return (
        f"bound {bound:.2f}, new rows {model.predict_log_density(new, seed=0).numpy().mean():.2f}"
    )


def trained(**settings):
    vip = gi.architectures.build_vip(X, Y, **settings)
    for steps in (0, 300, 1200):
        if steps:
            steps = reduce_in_tests(steps)
            gi.fit(vip, (X, Y), steps=steps, learning_rate=0.01, progress=False)
        print(f"{steps:5d} more steps: per row {per_row(vip)}")


for num_layers in (1, 2):
    print(f"{num_layers} layers")
    trained(num_layers=num_layers)

# %% [markdown]
# With more steps the bound goes on rising, in one layer above what any prediction of new rows can have, while the
# log density of new rows falls. So keep some rows aside, and stop where their log density is best; and do not compare
# this bound with that of a model whose prior has few parameters.

# %% [markdown]
# `FullGaussian` is one choice of q(z). With `GlobalInducing` it is the exact regression on pseudo-data at
# inducing points that come up through the layers, as in a deep GP or a network. Here its bound is lower than
# that of two layers with free Gaussians, and new rows suffer less:

# %%
trained(num_layers=2, inference="global", num_inducing=30)

# %% [markdown]
# ## Two modes
#
# Data from two branches. A Gaussian prediction can only cover both.

# %%
x = rng.uniform(-4, 4, (500, 1))
branch = np.where(rng.random(x.shape) < 0.5, np.cos(x - 0.5), np.sin(x - 0.5))
y = 10 * branch + rng.normal(size=x.shape)
inputs, targets = gi.datasets.Standardiser.fit(x), gi.datasets.Standardiser.fit(y)
data = inputs.transform(x), targets.transform(y)

# %% [markdown]
# A sparse implicit process draws the values at inducing inputs by a network on noise. There is no density,
# and so no bound:

# %%
sip = gi.architectures.build_sip(*data, num_inducing=30, num_draws=20, num_samples=50)
try:
    sip.elbo(data)
except gi.models.NoDensityError as error:
    print(error)

# %% [markdown]
# The objective of the paper needs samples alone: a classifier tells draws of the posterior from draws of the
# prior, and its output stands for the log ratio. What it estimates is far below the true divergence where that
# is large ([how far](../docs/objectives.md#a-classifier-in-place-of-a-density-ratio)): so compare models by
# held-out log density, never by this objective. With `alpha=1` the data term is the log density of each row.

# %%
objective = gi.objectives.DensityRatioKL(alpha=1.0, symmetrised=True, num_draws=50)
steps = reduce_in_tests(1500)
options = {"steps": steps, "batch_size": 50, "kl_warmup": steps // 5, "progress": False}
gi.fit(sip, data, objective=objective, learning_rate=0.005, **options)
vip = gi.architectures.build_vip(*data)
gi.fit(vip, data, objective=gi.objectives.AlphaEnergy(1.0), learning_rate=0.005, **options)

# %%
at = np.linspace(-4, 4, 161)[:, None]
fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
axes[0].plot(x, y, "o", color="#222222", markersize=1.5)
axes[0].set_title("data", fontsize="small")
for ax, (name, one) in zip(axes[1:], {"VIP": vip, "SIP": sip}.items(), strict=True):
    m, v = one.predict_y_components(inputs.transform(at), 60, seed=0)
    draws = np.asarray(m) + np.sqrt(v) * rng.normal(size=m.shape)
    for draw in draws:
        ax.plot(at, targets.inverse(draw), "o", color=COLOURS[0], markersize=1)
    density = one.predict_log_density(data, 300, seed=1).numpy().mean()
    ax.set_title(f"{name}: log density {density:.2f}", fontsize="small")

# %% [markdown]
# The numbers are mean log densities of the training rows, of standardised targets;
# [the experiment](../docs/experiments.md#implicit-processes) has test rows, more methods, and the true value.
