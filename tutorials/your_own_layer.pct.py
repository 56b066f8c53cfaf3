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
# # Your own kernel, likelihood, basis, layer, or posterior
#
# After this tutorial you can
#
# - say in which of five places a new idea belongs,
# - write it in some 40 lines or fewer,
# - test it against numbers that are known exactly, before you trust a bound that comes from it.
#
# Every layer of this library is one linear model,
#
# $$f(x) = m(x) + a(x)^\top z + r(x), \qquad z \sim \mathcal{N}(0, I)$$
#
# with basis functions $a$, a mean function $m$, and a residual $r$ which only GP layers have.
# Every method is a choice of $q(z)$. So a new idea is one of these:
#
# | what is new | what you write |
# |---|---|
# | a covariance | a GPflow kernel |
# | how targets come about | a GPflow likelihood |
# | basis functions $a(x)$ | a function of rows, below a `DenseLayer` |
# | what a layer does with its parts | a `Layer` |
# | $q(z)$ | a `Posterior` |
#
# Most tests below come from one fact. Where the only layer has the data as its inducing inputs, the
# targets as its pseudo-outputs and the precision of the noise, the regression (11, 22) of [Ober &
# Aitchison (2021)](https://arxiv.org/abs/2005.08140) is the exact posterior, and the bound must
# *equal* the log evidence. GPflow's `GPR` knows that number.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps
from gpflow.utilities import positive, triangular

import gpflow_gi as gi
from gpflow_gi.core.gaussians import FreeGaussian
from gpflow_gi.plotting import COLOURS

gpflow.config.set_default_jitter(1e-10)  # so that what should be equal is equal to many digits

NOISE = 0.04
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 1, size=(60, 1)), axis=0)
Y = np.sin(20 * X**2) + np.sqrt(NOISE) * rng.normal(size=X.shape)
grid = np.linspace(-0.1, 1.1, 300)[:, None]


def exact_posterior():
    """The q(z) that is exact for the only layer of a model with inducing inputs X."""
    return gi.posteriors.GlobalInducing(60, 1, pseudo_outputs=Y, pseudo_precision=1 / NOISE)


def bound_of(*layers):
    """The bound of a model with these layers, inducing inputs X and known noise."""
    model = gi.models.DeepGP(
        list(layers), gpflow.likelihoods.Gaussian(NOISE), num_data=60, inducing_inputs=X
    )
    return float(model.elbo((X, Y), seed=0))


def check(name, bound, exact):
    print(f"{name}: bound {bound:.6f}, exact {exact:.6f}")
    np.testing.assert_allclose(bound, exact, atol=1e-4)


def show(ax, model, title):
    """A model's mean and two standard deviations of f."""
    mean, variance = (np.ravel(moment) for moment in model.predict_f(grid))
    band = 2 * np.sqrt(variance)
    ax.fill_between(grid[:, 0], mean - band, mean + band, color=COLOURS[0], alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color=COLOURS[0])
    ax.set(xlabel="x", title=title)
    ax.title.set_size("medium")
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# ## A kernel
#
# Any GPflow kernel of one output will do, your own included; it is written for inputs of one
# batch, `[N, D]`, and this library takes care of samples. Gibbs' kernel has a lengthscale
# $\ell(x)$ that changes with the input,
#
# $$k(x, x') = \sqrt{\frac{2\, \ell(x)\, \ell(x')}{\ell(x)^2 + \ell(x')^2}}\
# \exp\left( -\frac{(x - x')^2}{\ell(x)^2 + \ell(x')^2} \right)$$
#
# here $\ell(x) = \exp(a + b x)$, for one input.


# %%
class Gibbs(gpflow.kernels.Kernel):
    """A squared exponential whose lengthscale is exp(a + b x); of one input."""

    def __init__(self, a=0.0, b=0.0, variance=1.0):
        super().__init__()
        self.a, self.b = Parameter(a), Parameter(b)
        self.variance = Parameter(variance, transform=positive())

    def K(self, X, X2=None):
        X2 = X if X2 is None else X2
        l1, l2 = tf.exp(self.a + self.b * X), tf.transpose(tf.exp(self.a + self.b * X2))
        squares = l1**2 + l2**2
        correlation = tf.sqrt(2 * l1 * l2 / squares) * tf.exp(
            -((X - tf.transpose(X2)) ** 2) / squares
        )
        return self.variance * correlation

    def K_diag(self, X):
        return self.variance * tf.ones_like(X[:, 0])


# %% [markdown]
# Two oracles: with $b = 0$ it is GPflow's squared exponential, and with the exact posterior the
# bound is `GPR`'s evidence.

# %%
rbf = gpflow.kernels.SquaredExponential(lengthscales=np.exp(-2.0))
np.testing.assert_allclose(Gibbs(a=-2.0)(X, grid), rbf(X, grid), atol=1e-12)

kernel = Gibbs(a=-1.0, b=-2.0)
gpr = gpflow.models.GPR((X, Y), kernel, noise_variance=NOISE)
evidence = float(gpr.log_marginal_likelihood())
check("Gibbs kernel", bound_of(gi.layers.GPLayer(kernel, 1, exact_posterior())), evidence)

# %%
models = {}
for name, kernel in [("squared exponential", rbf), ("Gibbs", Gibbs(a=-1.0, b=-1.0))]:
    models[name] = gpflow.models.GPR((X, Y), kernel, noise_variance=NOISE)
    gpflow.optimizers.Scipy().minimize(
        models[name].training_loss,
        models[name].trainable_variables,
        options={"maxiter": reduce_in_tests(100)},
    )
fig, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    show(ax, model, f"{name}: log evidence {model.log_marginal_likelihood():.1f}")
    ax.plot(X, Y, "o", color="#222222", markersize=2.5)
axes[0].set_ylabel("f, two standard deviations")
plt.show()

# %% [markdown]
# ## A likelihood
#
# A sensor that cannot show more than a limit $c$: $y = \min(f + \epsilon, c)$. GPflow's
# `ScalarLikelihood` takes a log density, and integrates it by quadrature; a mean and a variance
# of $y$ serve `predict_y`.


# %%
class Censored(gpflow.likelihoods.ScalarLikelihood):
    """y = min(f + e, limit), e ~ N(0, variance)."""

    def __init__(self, limit, variance=0.1):
        super().__init__()
        self.limit = limit
        self.variance = Parameter(variance, transform=positive())

    def _scalar_log_prob(self, X, F, Y):
        normal = tfp.distributions.Normal(F, tf.sqrt(self.variance))
        at_limit = normal.log_survival_function(tf.cast(self.limit, F.dtype))
        return tf.where(Y < self.limit, normal.log_prob(Y), at_limit)

    def _conditional_mean(self, X, F):
        below, density = self._below(F)
        return F * below - self.variance * density + self.limit * (1 - below)

    def _conditional_variance(self, X, F):
        below, density = self._below(F)
        square = (F**2 + self.variance) * below - (F + self.limit) * self.variance * density
        return square + self.limit**2 * (1 - below) - self._conditional_mean(X, F) ** 2

    def _below(self, F):
        """The probability of y < limit, and the density of f + e at it."""
        normal = tfp.distributions.Normal(F, tf.sqrt(self.variance))
        limit = tf.cast(self.limit, F.dtype)
        return normal.cdf(limit), normal.prob(limit)


# %% [markdown]
# Oracles: the moments are those of simulated targets; the density and the mass at the limit sum
# to one; and one local layer is GPflow's `SVGP`, whose bound with this likelihood is an
# independent way to the same number.

# %%
LIMIT = 0.6
likelihood = Censored(LIMIT, NOISE)
Y_censored = np.minimum(Y, LIMIT)

F = tf.constant([[0.1], [0.5], [0.8]], gpflow.default_float())
simulated = np.minimum(F + np.sqrt(NOISE) * rng.normal(size=(3, 1_000_000)), LIMIT)
mean, variance = likelihood.conditional_mean(X[:3], F), likelihood.conditional_variance(X[:3], F)
np.testing.assert_allclose(mean[:, 0], simulated.mean(axis=1), atol=5 * 0.2 / 1000)
np.testing.assert_allclose(variance[:, 0], simulated.var(axis=1), atol=5 * 0.1 / 1000)

step = (LIMIT + 2) / 20_000
y = -2 + step * (np.arange(20_000)[:, None] + 0.5)  # the middles of small intervals below the limit
density = np.exp(likelihood.log_prob(y, np.full_like(y, 0.5), y))
mass = np.exp(likelihood.log_prob(y[:1], np.array([[0.5]]), np.array([[LIMIT]])))
np.testing.assert_allclose(step * density.sum() + mass, 1.0, atol=1e-6)

Z = np.linspace(0, 1, 15)[:, None]
q_mu = rng.normal(size=(15, 1))
svgp = gpflow.models.SVGP(rbf, likelihood, Z, q_mu=q_mu, num_data=60)
local = gi.models.DeepGP(
    [gi.layers.GPLayer(rbf, 1, gi.posteriors.LocalInducing(Z, 1, q_mu=q_mu))],
    likelihood,
    num_data=60,
)
check("Censored", float(local.elbo((X, Y_censored))), float(svgp.elbo((X, Y_censored))))

# %% [markdown]
# Now a GP that does not know of the limit, and one that does. Where targets are at the limit, the
# second only knows that the function is about there or above.

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
for ax, own in zip(axes, (gpflow.likelihoods.Gaussian(NOISE), likelihood), strict=True):
    gpflow.set_trainable(own, False)  # the noise is known
    model = gi.architectures.build_deep_gp(
        X, Y_censored, num_layers=1, kernel=rbf, likelihood=own, num_inducing=20
    )
    steps = reduce_in_tests(1000, 5)
    gi.fit(model, (X, Y_censored), steps=steps, learning_rate=0.02, progress=False)
    show(ax, model, type(own).__name__)
    ax.plot(grid, np.sin(20 * grid**2), color=COLOURS[1], linestyle="--", label="truth")
    ax.plot(X, Y_censored, "o", color="#222222", markersize=2.5)
    ax.axhline(LIMIT, color="#999999", linewidth=0.8)
axes[0].set(ylabel="f, two standard deviations", ylim=(-2, 2.5))
axes[0].legend(frameon=False, loc="lower left")
plt.show()

# %% [markdown]
# ## A basis
#
# Basis functions that can be written down need no layer of their own: a function of rows goes
# into the list of layers, and above it a `DenseLayer` without bias, whose weights have variance 1
# under `StandardPrior` (15). Then $f(x) = a(x)^\top z$ with $a$ that function. Random Fourier
# features (Rahimi & Recht 2007) become a squared exponential as they become many. The function is
# a `gpflow.Module`, so that its kernel's parameters are trained with the model.


# %%
class FourierFeatures(gpflow.Module):
    """a(x) = sqrt(2 v / K) cos(W x / l + b), for the variance v and lengthscales l of a kernel."""

    def __init__(self, kernel, input_dim, num_features, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.kernel = kernel
        self.frequencies = rng.normal(size=(input_dim, num_features))
        self.phases = rng.uniform(0, 2 * np.pi, size=num_features)

    def __call__(self, X):
        scale = tf.sqrt(2 * self.kernel.variance / len(self.phases))
        return scale * tf.cos((X / self.kernel.lengthscales) @ self.frequencies + self.phases)


def dense_on(features, posterior):
    num_features = len(features.phases)
    prior = gi.priors.StandardPrior()
    return [features, gi.layers.DenseLayer(num_features, 1, posterior, prior=prior, bias=False)]


# %% [markdown]
# The oracle: a GP whose kernel is $a(x)^\top a(x')$, which GPflow's `Linear` kernel is on the
# features. And as the features become many, the evidence of the squared exponential.

# %%
target = float(gpflow.models.GPR((X, Y), rbf, noise_variance=NOISE).log_marginal_likelihood())
NUMBERS = (10, 30, 100, 300, 1000)[: reduce_in_tests(5)]
bounds = []
for K in NUMBERS:
    features = FourierFeatures(rbf, 1, K)
    A = features(X).numpy()
    linear = gpflow.models.GPR((A, Y), gpflow.kernels.Linear(), noise_variance=NOISE)
    bounds.append(bound_of(*dense_on(features, exact_posterior())))
    check(f"{K} features", bounds[-1], float(linear.log_marginal_likelihood()))

fig, ax = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
ax.axhline(target, color=COLOURS[1], linestyle="--", label="squared exponential")
ax.plot(NUMBERS, bounds, "o-", color=COLOURS[0], markersize=4, label="Fourier features")
ax.set(xscale="log", xlabel="features", ylabel="log evidence (nats)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## A layer
#
# What a chain of layers cannot say is a shortcut around one of them: $f(x) = x + g(x)$, as in
# residual networks. (The library has `gi.layers.Residual` for that, around chains of layers, all of
# which it draws.) `Shortcut` says it for any layer $g$ with as many outputs as inputs. It takes
# three classes, and each hands out the next:
#
# - A layer: `condition(U)` gives its posterior given what comes up from below.
# - A conditioned layer knows its `kl()`, can `predict`, and `draw(S, seed)` gives functions.
# - A draw gives values `rows` by row, or jointly: `extend` returns them, and the draw that
#   remembers them. `extend_inducing` does so at the `U` of `condition`, where a draw may know them.


# %%
class Shortcut(gi.layers.Layer):
    """f(x) = x + g(x), for a layer g with as many outputs as inputs."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.posterior = layer, layer.posterior
        self.output_dim = layer.output_dim

    @property
    def input_dim(self):
        return self.output_dim

    def check_inputs(self, input_dim):
        if input_dim != self.output_dim:
            raise ValueError(f"A shortcut to {self.output_dim} outputs gets {input_dim} columns.")
        self.layer.check_inputs(input_dim)

    def condition(self, U, num_samples=None, seed=None):
        return ConditionedShortcut(self.layer.condition(U, num_samples, seed))

    def follow_prior(self):
        self.layer.follow_prior()
        self.posterior = self.layer.posterior


class ConditionedShortcut(gi.layers.ConditionedLayer):
    def __init__(self, conditioned):
        self.conditioned = conditioned

    def kl(self):
        return self.conditioned.kl()

    def diagnostics(self):
        return self.conditioned.diagnostics()

    def predict(self, X, full_cov=False):
        mean, variance = self.conditioned.predict(X, full_cov)
        return X + mean, variance

    def draw(self, num_samples, seed):
        return ShortcutDraw(self.conditioned.draw(num_samples, seed))


class ShortcutDraw(gi.layers.LayerDraw):
    def __init__(self, draw):
        self.draw, self.log_p_minus_log_q = draw, draw.log_p_minus_log_q

    def rows(self, X, seed):
        return X + self.draw.rows(X, seed)

    def extend(self, X, seed):
        values, draw = self.draw.extend(X, seed)
        return X + values, ShortcutDraw(draw)

    def extend_inducing(self, U, seed):
        values, draw = self.draw.extend_inducing(U, seed)
        return U + values, ShortcutDraw(draw)


# %% [markdown]
# Oracles: `GPR` on what is left of the targets when $x$ is taken off, for a layer of weights and
# for a GP; and a draw must be a function: whatever is asked in between, the same input gives the
# same value.

# %%
left = gi.posteriors.GlobalInducing(60, 1, pseudo_outputs=Y - X, pseudo_precision=1 / NOISE)
for layer, kernel in [
    (gi.layers.DenseLayer(1, 1, left), gi.kernels.BNNKernel(1, "identity")),
    (gi.layers.GPLayer(rbf, 1, left), rbf),
]:
    gpr = gpflow.models.GPR((X, Y - X), kernel, noise_variance=NOISE)
    name = f"Shortcut({type(layer).__name__})"
    check(name, bound_of(Shortcut(layer)), float(gpr.log_marginal_likelihood()))


def block(width, num_inducing):
    """A residual block: a shortcut around a layer of weights, and a nonlinearity below it."""
    rows = gi.posteriors.GlobalInducing(num_inducing, width, pseudo_precision=10.0)
    return [tf.nn.tanh, Shortcut(gi.layers.DenseLayer(width, width, rows))]


U = np.linspace(0, 1, 20)[:, None]
first = rng.normal(size=(20, 10))
deep = gi.models.DeepGP(
    [
        gi.layers.DenseLayer(
            1,
            10,
            gi.posteriors.GlobalInducing(20, 10, pseudo_outputs=first),
            prior=gi.priors.NealPrior(5.0),
        ),
        *block(10, 20),
        *block(10, 20),
        tf.nn.tanh,
        gi.layers.DenseLayer(
            10, 1, gi.posteriors.GlobalInducing(20, 1), prior=gi.priors.NealPrior(3.0)
        ),
    ],
    gpflow.likelihoods.Gaussian(NOISE),
    num_data=60,
    inducing_inputs=U,
)
draws = deep.sample_functions(3, seed=0)
before = draws(X)
draws(grid)
np.testing.assert_array_equal(before, draws(X))
print("a draw gives the same values again")

# %% [markdown]
# ## A posterior
#
# A posterior says which Gaussian stands over $z$. The library has several (`gpflow_gi.core.gaussians`);
# the free one, with a full covariance, is the $q$ of SVGP. Over the weights to a unit it makes a
# posterior that is correlated within a layer and independent between layers: something between
# factorised and global.


# %%
class FullCovariance(gi.posteriors.Posterior):
    """q(z) = N(q_mu, q_sqrt q_sqrt^T) over all weights to a unit."""

    uses_global_inducing = False
    num_inducing = None
    output_dim = None  # known once a layer has taken the posterior

    def bind(self, num_weights, output_dim):
        if num_weights is None:
            raise ValueError("FullCovariance is a posterior over weights; a GPLayer has none.")
        self.output_dim = output_dim
        self.q_mu = Parameter(np.zeros((num_weights, output_dim)))
        q_sqrt = np.tile(0.1 * np.eye(num_weights), (output_dim, 1, 1))
        self.q_sqrt = Parameter(q_sqrt, transform=triangular())

    def basis_inputs(self, U):
        return U  # the basis of weights does not depend on inducing inputs

    def q(self, basis, outputs, num_samples=None):
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])


# %% [markdown]
# The oracle: on one layer, the family contains the exact posterior, and one step of natural
# gradient of length 1 finds it.

# %%
posterior = FullCovariance()
features = FourierFeatures(rbf, 1, 30)
model = gi.models.DeepGP(
    dense_on(features, posterior), gpflow.likelihoods.Gaussian(NOISE), num_data=60
)
natural = gpflow.optimizers.NaturalGradient(gamma=1.0)
loss = model.training_loss_closure((X, Y), compile=False)
natural.minimize(loss, [(posterior.q_mu, posterior.q_sqrt)])
linear = gpflow.models.GPR((features(X), Y), gpflow.kernels.Linear(), noise_variance=NOISE)
check("FullCovariance", float(model.elbo((X, Y))), float(linear.log_marginal_likelihood()))

# %% [markdown]
# ## What to try next
#
# - A basis that leaves a residual, or whose functions depend on inducing inputs, is a subclass of
#   `gpflow_gi.core.basis.Basis`; `gpflow_gi/kernels/basis.py` and `gpflow_gi/layers/dense.py` are the
#   two to read first.
# - Put your classes into a module of your own: then `gi.save` stores models that use them. A file
#   holds no code, so that `gi.load(path, trusted=[...])` must be given yours.
# - Train `deep`, the residual network above, and compare `inference`s in it.
# - The oracles of the library itself are in
#   `tests/models/test_exact_limits.py`.
