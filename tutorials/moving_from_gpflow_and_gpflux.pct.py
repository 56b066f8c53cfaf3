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
# # Moving from GPflow and GPflux
#
# After this tutorial you can
#
# - turn an SVGP of GPflow into a deep GP by three lines, and keep your training loop,
# - turn a trained model of GPflux into one of this library, with the same bound,
# - find the name here for the name that you know there.
#
# The second part needs GPflux: `pip install 'gpflow-gi[gpflux]'`.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps

import gpflow_gi as gi
from gpflow_gi.layers import GPLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.plotting import COLOURS
from gpflow_gi.posteriors import GlobalInducing, LocalInducing

# GPflow adds the jitter to kernel matrices as it is, this library in units of the kernel's variance.
# With little of it, and inducing inputs that stay apart, that makes no difference to see.
gpflow.config.set_default_jitter(1e-10)

tf.random.set_seed(0)
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-1, 1, size=(300, 1)), axis=0)
Y = np.sign(X) + 0.1 * rng.normal(size=X.shape)
grid = np.linspace(-1.2, 1.2, 300)[:, None]
Z = np.linspace(-1, 1, 25)[:, None]

# %% [markdown]
# ## From SVGP to a deep GP
#
# This is a GPflow model, with Adam on a closure as in GPflow's own documentation.


# %%
def train(model):
    optimizer = gpflow.keras.tf_keras.optimizers.legacy.Adam(0.02)
    loss = model.training_loss_closure((X, Y))

    @tf.function
    def step():
        optimizer.minimize(loss, model.trainable_variables)

    for _ in range(reduce_in_tests(1000, 5)):
        step()


def rbf(variance):
    return gpflow.kernels.SquaredExponential(variance, lengthscales=0.3)


svgp = gpflow.models.SVGP(rbf(1.0), gpflow.likelihoods.Gaussian(0.1), Z, num_data=len(X))
gpflow.set_trainable(svgp.inducing_variable, False)
train(svgp)
print(f"SVGP: ELBO {svgp.elbo((X, Y)):.3f} nats")

# %% [markdown]
# The same model here: a `DeepGP` of one `GPLayer`. Kernel, likelihood and whitened `q_mu` and
# `q_sqrt` are GPflow's, and so the bound is equal, but for what is left of the jitter.

# %%
posterior = LocalInducing(
    svgp.inducing_variable.Z.numpy(), 1, q_mu=svgp.q_mu.numpy(), q_sqrt=svgp.q_sqrt.numpy()
)
same = DeepGP([GPLayer(svgp.kernel, 1, posterior)], svgp.likelihood, num_data=len(X))
print(f"one GPLayer: ELBO {same.elbo((X, Y)):.3f} nats")
np.testing.assert_allclose(same.elbo((X, Y)), svgp.elbo((X, Y)), rtol=1e-3)

# %% [markdown]
# Now the three lines: a first layer with a posterior and an identity mean, a second layer with a
# posterior, and the model. `train`, which was written for SVGP, is as it was: a `DeepGP` is a
# GPflow model.

# %%
likelihood, identity = gpflow.likelihoods.Gaussian(0.1), gpflow.functions.Identity()

first = GPLayer(rbf(0.01), 1, GlobalInducing(25, 1, pseudo_precision=1e3), mean_function=identity)
last = GPLayer(rbf(1.0), 1, GlobalInducing(25, 1, pseudo_outputs=np.sign(Z), precision="full"))
deep = DeepGP([first, last], likelihood, num_data=len(X), inducing_inputs=Z)

train(deep)
elbo = gi.bounds.estimate_elbo(deep, (X, Y), reduce_in_tests(500, 4))
print(f"deep GP: ELBO {elbo.value:.1f} ± {elbo.standard_error:.1f} nats")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, model, title in zip(axes, (svgp, deep), ("SVGP", "deep GP"), strict=True):
    mean, variance = (np.ravel(moment) for moment in model.predict_y(grid))
    band = 2 * np.sqrt(variance)
    ax.fill_between(grid[:, 0], mean - band, mean + band, color=COLOURS[0], alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color=COLOURS[0])
    ax.plot(X, Y, "o", color="#222222", markersize=1.5)
    ax.set(xlabel="x", title=title)
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("y, two standard deviations")
plt.show()

# %% [markdown]
# `build_deep_gp` says the same in one line and chooses a start for any data, where the one above
# knew of the step; `gi.fit` trains in a compiled loop of many steps, with minibatches, KL warm-up
# and checkpoints.

# %%
short = gi.architectures.build_deep_gp(X, Y, num_layers=2, num_inducing=25)
steps = reduce_in_tests(1000, 5)
gi.fit(short, (X, Y), steps=steps, learning_rate=0.02, kl_warmup=steps // 3, progress=False)
elbo = gi.bounds.estimate_elbo(short, (X, Y), reduce_in_tests(500, 4))
print(f"build_deep_gp and fit: ELBO {elbo.value:.1f} ± {elbo.standard_error:.1f} nats")

# %% [markdown]
# What you know of GPflow works on a `DeepGP`: `print_summary`, `set_trainable`, priors on
# parameters, `gpflow.optimizers.Scipy` (with a closure that has a `seed`, so that it is
# deterministic), `gpflow.monitor`, `tf.train.Checkpoint`.

# %% [markdown]
# ## From GPflux
#
# A model of GPflux, built by its own architecture and trained as Keras models are.

# %%
from gpflux.architectures import Config, build_constant_input_dim_deep_gp

gpflow.keras.tf_keras.backend.set_floatx("float64")
config = Config(
    num_inducing=25, inner_layer_qsqrt_factor=1e-3, likelihood_noise_variance=0.1, whiten=True
)
flux = build_constant_input_dim_deep_gp(X, num_layers=2, config=config)
flux.f_layers[0].kernel.kernel.variance.assign(0.01)  # from 1e-6, which takes long to leave
for layer in flux.f_layers:
    gpflow.set_trainable(layer.inducing_variable, False)
training = flux.as_training_model()
training.compile(gpflow.keras.tf_keras.optimizers.legacy.Adam(0.02))
history = training.fit(
    {"inputs": X, "targets": Y}, batch_size=len(X), epochs=reduce_in_tests(600, 3), verbose=0
)
print(f"loss per row in the last epoch {history.history['loss'][-1]:.3f}")

# %% [markdown]
# One call converts it. Both models estimate the same bound from samples, so that it is their
# means that agree.

# %%
converted = gi.interop.from_gpflux(flux)

repeats = reduce_in_tests(300, 20)
theirs = np.array([flux.elbo((X, Y)) for _ in range(repeats)])
ours = gi.bounds.estimate_elbo(converted, (X, Y), 3 * repeats)
error = theirs.std(ddof=1) / np.sqrt(repeats)
print(f"GPflux            {theirs.mean():8.2f} ± {error:.2f} nats")
print(f"converted         {ours.value:8.2f} ± {ours.standard_error:.2f} nats")
difference = (theirs.mean() - ours.value) / np.hypot(error, ours.standard_error)
print(f"difference        {difference:8.1f} standard errors")
assert abs(difference) < 5

# %% [markdown]
# The conversion is a start, too. Training goes on from where GPflux stopped, with `gi.fit`; and
# what GPflux has no method for is at hand: the density of the mixture at held-out rows, a tighter
# bound with importance weights, functions that can be called again.
#
# The bounds of the three deep GPs on this page are no ranking. The models differ in starts and
# steps as well as in posteriors, and after so few steps their order is another on another machine.
# [The tutorial on local and global](deep_gps_global_and_local.ipynb) changes one thing at a time.

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, model, title in [
    (axes[0], converted, "local, from GPflux"),
    (axes[1], short, "global, by build_deep_gp"),
]:
    for s, f in enumerate(model.sample_functions(5, seed=0)(grid)):
        ax.plot(grid, f, color=COLOURS[s], linewidth=1.2)
    ax.plot(X, Y, "o", color="#222222", markersize=1.5, alpha=0.5)
    ax.set(xlabel="x", title=f"five draws of f: {title}")
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("f")
plt.show()

# %% [markdown]
# Draws differ most beyond the data. Between the data a draw may leave them for a moment, as one
# does on the left near x = -0.6. At any one x such draws are rare, and a band of two standard
# deviations does not show them.
#
# ## Names
#
# | GPflow | here |
# |---|---|
# | `SVGP(kernel, likelihood, Z)` | `DeepGP([GPLayer(kernel, 1, LocalInducing(Z, 1))], likelihood, num_data=N)` |
# | `q_mu`, `q_sqrt`, `whiten=True` | the same, in `layer.posterior`; always whitened |
# | `inducing_variable.Z` | `layer.posterior.inducing_inputs`; global: `model.inducing_inputs` |
# | `SharedIndependent`, `SeparateIndependent` | one kernel, or a list of kernels; both of these are taken too |
# | `elbo(data)` | `elbo(data, num_samples, seed)`; with an error: `gi.bounds.estimate_elbo` |
# | `training_loss_closure(data)` | the same |
# | `predict_f`, `predict_y`, `predict_log_density` | the same, moments and density of a mixture |
# | `predict_f_samples(X, S)` | the same; whole functions: `sample_functions(S)` |
# | `posterior()` | `posterior(S)`: frozen draws, which predict the same at every call |
# | `gpflow.monitor`, `print_summary`, `deepcopy` | the same |
#
# | GPflux | here |
# |---|---|
# | `DeepGP(f_layers, likelihood_layer)` | `gi.models.DeepGP(layers, likelihood, num_data=N)` |
# | `GPLayer(kernel, inducing_variable, num_data)` | `gi.layers.GPLayer(kernel, P, LocalInducing(Z, P))` |
# | `build_constant_input_dim_deep_gp` | `gi.architectures.build_deep_gp(X, Y, inference="local")` |
# | `as_training_model()`, `compile`, `fit` | `gi.fit(model, data, steps=...)` |
# | `as_prediction_model()` | the model itself; as a SavedModel: `gi.export` |
# | a hidden layer's `num_samples` | the model's `num_samples` |
# | Keras layers between GP layers | the same, of `gpflow.keras.tf_keras`; any function of rows |
# | `save_weights` | `gi.save`, `gi.load` |
# | `LatentVariableLayer`, `LinearCoregionalization` | `gi.layers.LatentVariableLayer`, `GPLayer(..., mixing=W)` |
#
# ## What to try next
#
# - `inference=["local", "global"]` in `build_deep_gp`: any mix is a valid bound.
# - [Deep GPs, global and local](deep_gps_global_and_local.ipynb): what the other posterior
#   changes.
# - [How the two libraries compare](../docs/performance.md) in speed.
