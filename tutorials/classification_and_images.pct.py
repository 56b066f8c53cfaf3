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
# # Classification and images: digits, calibration, out-of-distribution detection
#
# After this tutorial you can
#
# - train a Bayesian convolutional network on images, with global inducing points,
# - compare it with independent weights by changing one argument,
# - read its probabilities, and say by a picture and two numbers whether they are calibrated,
# - find the images that it does not know.
#
# The network is that of [Ober & Aitchison (2021)](https://arxiv.org/abs/2005.08140), section 3.4,
# made small. Numbers in parentheses behind an equation are the paper's.

# %%
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts with fewer messages

import gpflow
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial take fewer steps
from sklearn.datasets import load_sample_images

import gpflow_gi as gi
from gpflow_gi import classification_metrics as metrics
from gpflow_gi.plotting import COLOURS

tf.get_logger().setLevel("ERROR")  # and runs without its warnings

# Single precision is enough here, and needs more jitter than GPflow's default.
gpflow.config.set_default_float(np.float32)
gpflow.config.set_default_jitter(1e-4)

# %% [markdown]
# ## Digits
#
# Handwritten digits of 8 x 8 pixels, which come with scikit-learn. (`gi.datasets.images` knows
# MNIST, CIFAR-10 and SVHN too.) The priors of weights are made for inputs of unit scale, so the
# pixels are standardised, by the mean and deviation of the training set.

# %%
train, test = gi.datasets.images("digits")
center, scale = train.X.mean(), train.X.std()


def standardised(images):
    return ((images - center) / scale).astype(np.float32)


X, Y = standardised(train.X), train.Y
X_test, Y_test = standardised(test.X), test.Y
print(f"to train on: X {X.shape}, Y {Y.shape}; to test on: X {X_test.shape}")


def show(image, ax):
    """An image in ink on paper."""
    ax.imshow(image[..., 0], cmap="gray_r", vmin=X.min(), vmax=X.max())
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("#BBBBBB")


fig, axes = plt.subplots(2, 10, figsize=(9, 2.1), layout="constrained")
for label, column in enumerate(axes.T):
    of_label = np.flatnonzero(Y[:, 0] == label)
    for ax, i in zip(column, of_label, strict=False):
        show(X[i], ax)
    column[0].set_title(f"{label}", fontsize="medium")
plt.show()

# %% [markdown]
# ## The network and its posterior
#
# A convolution is a linear model whose rows are patches. With $a_{n\ell}$ the 3 x 3 patch of image
# $n$ around the location $\ell$, all its channels in one row of $K = 9C$ numbers, the output there
# is $a_{n\ell}^\top w$, by the same $w$ at every location. So the posterior of a layer is the
# regression of the fully connected case, with $M$ *inducing images* which go through the network
# with the data:
#
# $$Q(w \mid \text{layers below}) = \mathcal{N}(\Sigma\, \Phi^\top \Lambda v,\ \Sigma), \qquad
# \Sigma = (K S^{-1} + \Phi^\top \Lambda \Phi)^{-1} \qquad (11)$$
#
# $$\Phi^\top \Lambda \Phi = \sum_{m=1}^M \lambda_m \sum_\ell a_{m\ell}\, a_{m\ell}^\top, \qquad
# \Phi^\top \Lambda v = \sum_{m=1}^M \lambda_m \sum_\ell a_{m\ell}\, v_{m\ell}$$
#
# The pseudo-outputs $v$ of an inducing image are an image as well. One argument says which
# posterior stands over the weights. `prior="scale"` learns the scale of every layer's weights
# (16 to 18).
#
# `build_resnet` makes a convolution and three blocks, each a shortcut in parallel with two
# convolutions. Behind every convolution is a ReLU, behind every block average pooling, and at the
# end a dense layer.


# %%
def build(inference):
    return gi.architectures.build_resnet(
        X,
        Y,
        width=reduce_in_tests(16, 4),
        num_inducing=reduce_in_tests(100, 20),
        inference=inference,
        prior="scale",
        seed=0,
    )


model = build("global")
for layer in model.layers:
    for part in getattr(layer, "layers", [layer]):
        if isinstance(part, gi.layers.Conv2DLayer):
            print(f"convolution {part.input_shape} -> {part.output_shape},", end=" ")
            print(f"{part.num_weights} weights to each filter")

# %% [markdown]
# Patches are nine times the image, and would have to be kept for every layer and sample. But only
# two sums over them are needed, and each is a gradient of a convolution with respect to its filter,
# so that the patches are never formed. Here they are formed, to see that the sums are right:

# %%
block = model.layers[2].layers[0]  # the first convolution of the first block
M, (height, width, C) = model.inducing_inputs.shape[0], block.input_shape
rng = np.random.default_rng(0)
images = tf.constant(rng.normal(size=(M, height * width * C)), tf.float32)
v = tf.constant(rng.normal(size=(M, height, width, C)), tf.float32)
precision = tf.constant(rng.uniform(size=M), tf.float32)

Phi = block.convolution.patches(images).numpy()
Lambda = np.repeat(precision, height * width)[:, None]
by_patches = Phi.T @ (Lambda * Phi), Phi.T @ (Lambda * np.reshape(v, [len(Phi), C]))
without = block.convolution.moments(images, precision, v)

print(f"images: {np.size(images)} numbers; patches: {Phi.size}; first sum: {by_patches[0].size}")
for name, one, other in zip(("first", "second"), by_patches, without, strict=True):
    print(
        f"{name} sum, largest relative error: {np.abs(one - other).max() / np.abs(one).max():.0e}"
    )

# %% [markdown]
# ## Training
#
# The likelihood of a label is the softmax of the last layer's ten outputs. What training maximises
# is the bound (13), as for every model of this package. Given a sample $s$ of the layers below, an
# image has independent Gaussian outputs $f_c$ with means $\mu_{sc}$ and variances $\sigma_s^2$,
# and the data term of the bound is
#
# $$\mathrm{E}[\log p(y \mid f)] = \mu_{sy} - \mathrm{E}[\log \sum_c \exp f_c], \qquad
# f_c \sim \mathcal{N}(\mu_{sc}, \sigma_s^2).$$
#
# It has no closed form; GPflow's `Softmax` averages over draws of $f$. The two posteriors are
# trained alike, in minibatches of 100 images, and with a learning rate that falls to a tenth over
# the last third.

# %%
STEPS = reduce_in_tests(1500, 6)


def learning_rate(step):
    done = tf.cast(step, tf.float32) / STEPS
    return 0.02 * 0.1 ** tf.maximum(3 * done - 2, 0.0)


def trained(inference):
    model = build(inference)
    record = gi.fit(
        model,
        (X, Y),
        steps=STEPS,
        batch_size=100,
        learning_rate=learning_rate,
        kl_warmup=STEPS // 5,
        progress=False,
        seed=0,
    )
    return model, record


METHODS = ("factorised", "global")
models, records = {}, {}
for method in METHODS:
    models[method], records[method] = trained(method)
    elbo = gi.bounds.estimate_elbo(models[method], (X, Y), reduce_in_tests(50, 2), seed=0)
    value, error = np.divide(elbo, len(X))
    print(f"{method:>10}: ELBO {value:.3f} ± {error:.3f} nats per image")

# %%
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
gi.plotting.training_curves(records, ax, num_data=len(X))
plt.show()

# %% [markdown]
# Global inducing points have by far the better bound, from the first hundred steps on. A step of
# theirs takes several times as long, and the factorised network still climbs when training ends;
# but [twice as many steps](../docs/experiments.md#images) change little of the distance.
#
# ## Probabilities of classes
#
# A prediction is a mixture over samples of the layers below the last, which is integrated out:
#
# $$p(c \mid x) \approx \frac{1}{S} \sum_{s=1}^S \mathrm{E}\, \frac{\exp f_c}{\sum_{c'} \exp f_{c'}}
# , \qquad f_c \sim \mathcal{N}(\mu_{sc}(x), \sigma_s^2(x))$$
#
# `predict_proba` gives it for every image and class. Two scores of it are *proper*: no one expects
# a better value from saying other probabilities than they believe. They are the log density of the
# label, and the Brier score, the squared distance from the label,
# $\sum_c (p(c \mid x) - [c = y])^2$, where lower is better.
#
# `model.predict_proba(X_test)` draws the samples at every call, and pushes the inducing images
# through the network for each. `model.posterior(S)` does that once, for all images to come.

# %%
S = reduce_in_tests(50, 4)
posteriors = {method: model.posterior(S, seed=0) for method, model in models.items()}
probabilities = {
    method: posterior.predict_proba(X_test).numpy() for method, posterior in posteriors.items()
}
print("            accuracy  log density  Brier score")
for method, p in probabilities.items():
    print(
        f"{method:>10}    {metrics.accuracy(Y_test, p):6.1%}"
        f"  {metrics.log_density(Y_test, p).mean():11.3f}"
        f"  {metrics.brier_score(Y_test, p).mean():11.3f}"
    )

# %% [markdown]
# The digits of which the network with global inducing points is least sure, by the entropy of its
# prediction, $-\sum_c p(c \mid x) \log p(c \mid x)$. The bar of the true class is orange.

# %%
entropy = {method: metrics.predictive_entropy(p) for method, p in probabilities.items()}
least_sure = np.argsort(entropy["global"])[::-1][:8]

fig, axes = plt.subplots(
    2, 8, figsize=(11, 3.2), layout="constrained", height_ratios=(1, 1.1), sharey="row"
)
for (above, below), i in zip(axes.T, least_sure, strict=True):
    label = int(Y_test[i, 0])
    show(X_test[i], above)
    colours = [COLOURS[1] if c == label else COLOURS[0] for c in range(10)]
    below.bar(range(10), probabilities["global"][i], color=colours)
    below.set_xticks(range(10), range(10), fontsize="x-small")
    below.tick_params(axis="x", length=0)
    below.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("probability")
plt.show()

# %% [markdown]
# They are hard to read for people too. In half of them the true class comes first, and in two more
# it comes second.
#
# ## Calibration
#
# Of the digits to which a network gives its class with probability 0.8, eight in ten should be
# right. A reliability diagram sorts predictions by that *confidence*, and compares it with the
# share that was right. The expected calibration error is the mean distance between the two over
# the bins $b$, by their numbers of predictions $n_b$:
#
# $$\mathrm{ECE} = \sum_b \frac{n_b}{N}\, |\mathrm{accuracy}_b - \mathrm{confidence}_b|$$
#
# Bins with few predictions differ by chance. What chance alone would give is printed as well: the
# error of the same predictions for labels that are drawn from them.

# %%
BINS = 10
fig, axes = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
for ax, (method, p) in zip(axes, probabilities.items(), strict=True):
    bins = metrics.reliability(Y_test, p, BINS)
    gi.plotting.reliability_diagram(bins.edges, bins.confidence, bins.accuracy, ax)
    ax.set_title(method)
fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
plt.show()

for method, p in probabilities.items():
    p = p / p.sum(axis=1, keepdims=True, dtype=np.float64)
    by_chance = [
        metrics.expected_calibration_error(rng.multinomial(1, p).argmax(axis=1), p, BINS)
        for _ in range(100)
    ]
    error = metrics.expected_calibration_error(Y_test, p, BINS)
    print(f"{method:>10}: ECE {error:.3f}, by chance {np.mean(by_chance):.3f}", end="")
    print(f"; mean confidence {p.max(axis=1).mean():.3f}")

# %% [markdown]
# The far left bins hold a few predictions only. In the others the bars are above the diagonal, for
# both networks: they are right more often than they say, by more than chance. That is the safe
# side to err on, but an error: the probabilities are those of an average over many draws of
# weights, and the bound charges for every weight that is made more certain than a priori. The
# network with global inducing points is the more confident of the two, and the better calibrated.
#
# ## Images that it does not know
#
# A network must choose between ten digits even where there is none. A good one is then unsure.
# Here are images of three other kinds, as many as there are to test on: the test digits on their
# side, the test digits with their pixels shuffled, and cuts of 8 x 8 pixels from photographs, in
# which what is bright counts as ink.

# %%
shuffled = rng.permuted(X_test.reshape(len(X_test), -1), axis=1).reshape(X_test.shape)
cuts = []
for photograph in load_sample_images().images:
    grey = photograph.mean(axis=2) / 255
    rows, columns = (size // 8 for size in grey.shape)
    grid = grey[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8).swapaxes(1, 2)
    cuts.append(grid.reshape(-1, 8, 8, 1))
cuts = standardised(rng.permutation(np.concatenate(cuts))[: len(X_test)])

elsewhere = {
    "rotated": np.rot90(X_test, axes=(1, 2)),
    "shuffled": shuffled,
    "photographs": cuts,
}
fig, axes = plt.subplots(4, 10, figsize=(9, 4), layout="constrained")
for row, (name, images) in zip(axes, {"test digits": X_test, **elsewhere}.items(), strict=True):
    for ax, image in zip(row, images, strict=False):
        show(image, ax)
    row[0].set_ylabel(name, rotation="horizontal", ha="right", va="center")
plt.show()

# %% [markdown]
# The score is again the entropy of the prediction, between 0 and $\log 10$. How well it tells test
# digits from others is measured by the AUROC, the area under the curve of hits against false
# alarms. It is the probability that an image from elsewhere has a higher entropy than a test
# digit: 1 if all have, 1/2 if entropy says nothing, and below 1/2 if the network is *surer* of
# what it does not know.

# %%
probabilities_elsewhere = {
    method: {name: posterior.predict_proba(images).numpy() for name, images in elsewhere.items()}
    for method, posterior in posteriors.items()
}
edges = np.linspace(0, np.log(10), 24)
fig, axes = plt.subplots(3, 2, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
for column, method in zip(axes.T, METHODS, strict=True):
    for ax, (name, p) in zip(column, probabilities_elsewhere[method].items(), strict=True):
        ax.hist(entropy[method], edges, color=COLOURS[0], alpha=0.6, label="test digits")
        ax.hist(metrics.predictive_entropy(p), edges, color=COLOURS[1], alpha=0.6, label=name)
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    column[0].set_title(method)
    column[-1].set_xlabel("entropy of the prediction (nats)")
for ax in axes[:, 0]:
    ax.set_ylabel("images")
plt.show()

print(f"{'AUROC':>10}  " + "  ".join(f"{name:>11}" for name in elsewhere))
for method in METHODS:
    values = [
        metrics.auroc(entropy[method], metrics.predictive_entropy(p))
        for p in probabilities_elsewhere[method].values()
    ]
    print(f"{method:>10}  " + "  ".join(f"{value:11.2f}" for value in values))

# %% [markdown]
# With global inducing points, all three kinds are found better than with independent weights. With
# another seed for the 50 samples the numbers move by some hundredths.
#
# Independent weights fall below 1/2 for digits on their side: the network is surer of them than of
# digits that stand. Reading the score backwards would not help, since for the other two kinds it
# points the right way, and no one knows beforehand what will come. What are these digits taken
# for? And what is it in photographs that passes for a digit? Cuts that hold nearly one shade
# of grey are counted apart.

# %%
print("rotated digits called" + "".join(f"{c:>5}" for c in range(10)))
for method in METHODS:
    p = probabilities_elsewhere[method]["rotated"]
    counts = np.bincount(p.argmax(axis=1), minlength=10)
    print(f"{method:>21}" + "".join(f"{count:>5}" for count in counts))

is_flat = cuts.std(axis=(1, 2, 3)) < 0.1
print(f"\n{is_flat.mean():.0%} of the cuts are flat. AUROC of flat ones and of others:")
for method in METHODS:
    values = metrics.predictive_entropy(probabilities_elsewhere[method]["photographs"])
    flat, others = (metrics.auroc(entropy[method], values[rows]) for rows in (is_flat, ~is_flat))
    print(f"{method:>21} {flat:8.2f} {others:8.2f}")

# %% [markdown]
# Both networks call most of the lying digits a 4, and the factorised one is certain of many. Most
# of the cuts are flat, with nothing in them that a filter could find odd, and on these the two
# networks are nearly equal. What has texture is found well with global inducing points, and no
# better than the flat cuts with independent weights. One number for "out of distribution" says as
# much of the images that were chosen as of the network: choose those that you expect.
#
# ## The inducing images
#
# They started as digits from the training set, and are parameters like others.

# %%
start = build("global").inducing_inputs
end = models["global"].inducing_inputs
fig, axes = plt.subplots(2, 12, figsize=(10, 2), layout="constrained")
for i, (above, below) in enumerate(axes.T):
    show(np.reshape(start[i], X.shape[1:]), above)
    show(np.reshape(end[i], X.shape[1:]), below)
axes[0, 0].set_ylabel("before", rotation="horizontal", ha="right", va="center")
axes[1, 0].set_ylabel("after", rotation="horizontal", ha="right", va="center")
plt.show()

# %% [markdown]
# In most of them the digit can still be seen, but paler and with a ground that no digit has. An
# inducing image need not look like the data. It has to be one whose patches, in this layer and in
# all those above, make a good regression.
#
# ## What to take from this
#
# - `inference="global"` is worth its time on images too: a better bound, more digits right, better
#   probabilities.
# - Look at a reliability diagram before you take a probability at its word. Accuracy says nothing
#   of it.
# - Entropy finds some images from elsewhere and not others. Test it with images of more than one
#   kind.
#
# ## What to try next
#
# - `gpflow-gi experiment images` for four posteriors, local inducing points and a global last
#   layer above factorised ones among them, in the layout of the paper's Table 1, and [what they
#   came to](../docs/experiments.md#images).
# - `gi.fit(..., temperature=0.1)`, a tempered posterior, and `gi.fit(..., augment=...)` with
#   `functools.partial(gi.training.augmented, flip=False, padding=1)`, digits shifted by a pixel.
#   Both are much used for images. [What they maximise is no
#   ELBO](../docs/guide.md#cold-posteriors-and-augmented-images): do not compare it with the
#   numbers above.
# - `prior="spatial"`: neighbouring weights of a filter are correlated a priori.
# - `gi.datasets.as_images` takes images of your own, and `gi.datasets.images("cifar10")` wants a
#   GPU.
# - A layer or posterior of your own: [your own layer](your_own_layer.ipynb).
