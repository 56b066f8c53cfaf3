"""A KL divergence from a classifier that tells draws of q from draws of the prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import gpflow
import numpy as np
import tensorflow as tf

from ..core.adam import Adam
from ..core.callables import two_samples
from ..core.estimate import Estimate
from ..core.perceptron import Perceptron
from ..core.random import Seed, as_seed, fold_in, standard_normal, start_seed
from ..core.validation import (
    non_negative_number,
    positive_integer,
    positive_number,
    true_or_false,
    widths_of_layers,
)
from .alpha_energy import check_has_rows
from .classifier import classifier_loss, moments, new_classifier
from .data_term import check_power, data_term, draws_for
from .drawn import Drawn, Sampler, drawn_variables
from .objective import Batch, Objective, Terms
from .two_contrasts import contrasted, loss_of_both, symmetrised_kl


class DensityRatioKL(Objective):
    """The objective whose KL divergence a classifier estimates, for a q that can only be drawn.

    A network T is trained to tell samples of q from samples of the prior, and takes the place of
    their log density ratio (Mescheder, Nowozin & Geiger 2017, "Adversarial variational Bayes", eq.
    3.3 to 3.6; Rodriguez Santana et al. 2022, eq. 2, 3 and 10)::

        E_q log sigmoid(T) + E_p log(1 - sigmoid(T))        maximised over T
        sum_n 1/alpha log E_q[p(y_n | f_n)^alpha] - E_q T   maximised over q

    With ``alpha=0`` (the data term of the ELBO) for weights it is AVB, with ``alpha=0.5`` it is
    AADM (Rodriguez Santana & Hernandez-Lobato 2020), and for inducing outputs with ``alpha=0.5,
    symmetrised=True`` the objective of sparse implicit processes (eq. 12). **It is no bound**: a
    classifier underestimates large divergences badly; see the page on objectives for how badly,
    and :func:`classifier_kl`.

    The papers train q at a rate of 1e-4, ``gi.fit(..., learning_rate=1e-4)``, and the classifier
    at 1e-3, one step each.

    :param classifier: widths of the hidden layers of T.
    :param alpha: the power of the data term, at least 0; see :class:`AlphaEnergy`.
    :param symmetrised: True for 1/2 [KL(q || p) + KL(p || q)] (eq. 11), whose second half trains
        parameters of the prior.
    :param adaptive_contrast: True to compare q with the Gaussian that has its means and variances,
        whose log ratio to the prior is known, instead of the prior (Mescheder et al., section 3.3).
        That needs the density of the prior: inducing outputs of a process are compared with draws
        of it. With a symmetrised divergence, q and the prior are each compared with a Gaussian, by
        two classifiers (Rodriguez Santana et al. 2022, supplement, section 2); means and variances
        are constants, so that gradients pass through the draws alone. By default False with a
        symmetrised divergence, as in the experiments of that paper, and True otherwise.
    :param num_draws: draws of q and of the prior in each step.
    :param learning_rate: learning rate of the classifier's Adam.
    :param seed: seed of the classifier's weights at the start.
    :raises TypeError: if an argument is of the wrong type.
    :raises ValueError: if a number is invalid.
    """

    shows_elbo = False

    def __init__(
        self,
        classifier: Sequence[int] = (50, 50),
        *,
        alpha: float = 0.0,
        symmetrised: bool = False,
        adaptive_contrast: bool | None = None,
        num_draws: int = 100,
        learning_rate: float = 1e-3,
        seed: Seed = 0,
    ) -> None:
        self.classifier = widths_of_layers(classifier)
        self.alpha = non_negative_number("alpha", alpha)
        self.symmetrised = true_or_false("symmetrised", symmetrised)
        self.adaptive_contrast = (
            not self.symmetrised
            if adaptive_contrast is None
            else true_or_false("adaptive_contrast", adaptive_contrast)
        )
        self.num_draws = positive_integer("num_draws", num_draws)
        if self.num_draws == 1:
            raise ValueError("num_draws must be at least 2: one draw has no variance.")
        learning_rate = positive_number("learning_rate", learning_rate)
        self.auxiliary_optimizer = Adam(learning_rate, jit_compile=False)
        self.seed = as_seed(seed).numpy().tolist()
        self.log_ratio: Perceptron | None = None
        """T, a network of L inputs; None before the first training."""
        self.prior_log_ratio: Perceptron | None = None
        """The same of the prior and its Gaussian, where there are two contrasts."""

    @property
    def name(self) -> str:  # type: ignore[override]
        symmetrised = "symmetrised " if self.symmetrised else ""
        contrasts = ", two contrasts" if self._has_two_contrasts else ""
        return f"{symmetrised}density-ratio objective (alpha {self.alpha:g}{contrasts})"

    def check(self, model: Any, num_samples: int | None) -> None:
        check_has_rows(self, model)
        if self.alpha > 0.0:
            check_power(model)
        drawn_variables(model)

    def build(self, model: Any, data: Batch) -> None:
        size = drawn_variables(model).size
        if self.log_ratio is None:
            start = start_seed(self.seed)
            self.log_ratio = new_classifier(size, self.classifier, start)
            self.auxiliary_variables = self.log_ratio.trainable_variables
            if self._has_two_contrasts:
                self.prior_log_ratio = new_classifier(size, self.classifier, fold_in(start, 1))
                self.auxiliary_variables += self.prior_log_ratio.trainable_variables
        elif self.log_ratio.weights[0].shape[0] != size:
            raise ValueError(
                f"This {type(self).__name__} was used for {self.log_ratio.weights[0].shape[0]} "
                f"variables before, and the model has {size}. Make a new one."
            )

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        draws = draws_for(model, batch, num_samples, seed)
        first = data_term(model, batch, draws, seed, self.alpha)
        of_draws = fold_in(seed, 3)
        if self._has_two_contrasts:
            both = contrasted(drawn_variables(model), self.num_draws, of_draws)
            return first, symmetrised_kl(both, self._log_ratio, self._log_ratio_of_prior)
        q, other, offset = self._compared(model, of_draws)
        # (10): KL(q || p) = E_q T; with contrast r, E_q [T + log r - log p]
        kl = tf.reduce_mean(self._log_ratio(q) + offset)
        if self.symmetrised:  # (11)
            kl = 0.5 * (kl - tf.reduce_mean(self._log_ratio(other)))
        return first, kl

    def auxiliary_loss(
        self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor
    ) -> tf.Tensor:
        if self._has_two_contrasts:
            both = contrasted(drawn_variables(model), self.num_draws, seed)
            return loss_of_both(both, self._log_ratio, self._log_ratio_of_prior, seed)
        q, other, _ = self._compared(model, seed)
        return classifier_loss(self._log_ratio(q), self._log_ratio(other))

    @property
    def _has_two_contrasts(self) -> bool:
        return self.symmetrised and self.adaptive_contrast

    def _compared(self, model: Any, seed: tf.Tensor) -> Compared:
        return compared(drawn_variables(model), self.num_draws, seed, self.adaptive_contrast)

    def _log_ratio(self, x: tf.Tensor) -> tf.Tensor:
        assert self.log_ratio is not None, "build comes first"
        return self.log_ratio(x)[:, 0]

    def _log_ratio_of_prior(self, x: tf.Tensor) -> tf.Tensor:
        assert self.prior_log_ratio is not None, "build comes first"
        return self.prior_log_ratio(x)[:, 0]


class Compared(NamedTuple):
    """Two samples that a classifier tells apart, each [S, L], in the same units."""

    q: tf.Tensor
    other: tf.Tensor
    offset: tf.Tensor
    """The term to add to the log ratio at q for that to the prior, [S] or []."""


def compared(drawn: Drawn, num_draws: int, seed: tf.Tensor, contrasts: bool) -> Compared:
    """Draws of q, and draws of the prior or of a Gaussian contrast.

    :param num_draws: the number of each, S.
    :param seed: [2].
    :param contrasts: True for a contrast, if the prior has a density.
    """
    q = drawn.sample_q(num_draws, fold_in(seed, 0))
    if not contrasts or drawn.log_prior is None:
        prior = drawn.sample_prior(num_draws, fold_in(seed, 1))
        return Compared(q, prior, tf.zeros([], q.dtype))
    mean, scale = moments(q)
    x = (q - mean) / scale
    # log r(theta) - log p(theta), for r the Gaussian with the moments of q
    log_r = -0.5 * tf.reduce_sum(tf.square(x) + math.log(2 * math.pi), axis=1)
    offset = log_r - tf.reduce_sum(tf.math.log(scale)) - drawn.log_prior(q)
    return Compared(x, standard_normal(tf.shape(x), fold_in(seed, 1), x.dtype), offset)


def classifier_kl(
    sample_q: Sampler,
    sample_prior: Sampler,
    *,
    classifier: Sequence[int] = (50, 50),
    steps: int = 6000,
    num_draws: int = 100,
    learning_rate: float = 1e-3,
    num_test_draws: int = 10_000,
    seed: Seed = 0,
) -> Estimate:
    """Estimate KL(q || p) by a classifier between q and p, both fixed, without a contrast.

    As :class:`DensityRatioKL` does with ``adaptive_contrast=False``. Use it where the true
    divergence is known, to measure the error of such an estimate.

    :param sample_q: function of S and a seed [2] that returns samples of q, [S, L], in TensorFlow
        operations.
    :param sample_prior: the same for p.
    :param classifier: widths of the classifier's hidden layers.
    :param steps: number of steps of Adam.
    :param num_draws: draws of each distribution in a step.
    :param learning_rate: learning rate of Adam.
    :param num_test_draws: new draws of q for the estimate.
    :param seed: seed of the classifier and of all draws.
    :return: the estimate in nats; its standard error is that of the mean over the last draws alone.
    :raises TypeError: if a sampler is no function.
    :raises ValueError: if a number is invalid, if a sampler fails, returns another shape, or
        samples that are not of GPflow's default float type, or if the classifier becomes NaN or
        infinite.

    >>> def shifted(S, seed):
    ...     return 1.0 + tf.random.stateless_normal([S, 1], seed, dtype=tf.float64)
    >>> def standard(S, seed):
    ...     return tf.random.stateless_normal([S, 1], seed, dtype=tf.float64)
    >>> value, _ = classifier_kl(shifted, standard, steps=500)  # 0.5 nats
    >>> 0.3 < value < 0.7
    True
    """
    steps = positive_integer("steps", steps)
    num_draws = positive_integer("num_draws", num_draws)
    num_test_draws = positive_integer("num_test_draws", num_test_draws)
    optimizer = Adam(positive_number("learning_rate", learning_rate), jit_compile=False)
    seed = as_seed(seed)
    size = _size_of_both(sample_q, sample_prior)
    drawn = Drawn(size, sample_q, sample_prior)
    T = new_classifier(size, widths_of_layers(classifier), fold_in(seed, 0))
    variables = T.trainable_variables
    optimizer.build(variables)

    def take(step: tf.Tensor) -> tuple[tf.Tensor]:
        own = fold_in(fold_in(seed, 1), step)
        with tf.GradientTape() as tape:
            q, other, _ = compared(drawn, num_draws, own, contrasts=False)
            loss = classifier_loss(T(q)[:, 0], T(other)[:, 0])
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return (step + 1,)

    @tf.function(autograph=False)
    def run(start: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda step: step < stop, take, (start,))[0]

    index = tf.TensorSpec([], tf.int32)
    compiled = run.get_concrete_function(index, index)
    compiled(tf.constant(0), tf.constant(steps))
    q, _, _ = compared(drawn, num_test_draws, fold_in(seed, 2), contrasts=False)
    ratios = T(q)[:, 0].numpy()
    if not np.all(np.isfinite(ratios)):
        raise ValueError("The classifier is NaN or infinite. Lower the learning rate.")
    return Estimate(float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios))))


def _size_of_both(sample_q: Any, sample_prior: Any) -> int:
    """Check the samplers; return L."""
    samples = {"sample_q": sample_q, "sample_prior": sample_prior}
    sizes = []
    for name, sampler in samples.items():
        x = two_samples(name, sampler)
        if x.shape.rank != 2 or x.shape[0] != 2 or not x.shape[1]:
            raise ValueError(
                f"{name} must return samples of shape [S, L], but for S = 2 it returned the shape "
                f"{x.shape.as_list()}."
            )
        if x.dtype != gpflow.default_float():
            raise ValueError(
                f"{name} must return samples of type {np.dtype(gpflow.default_float()).name}, but "
                f"they are of type {x.dtype.name}."
            )
        sizes.append(int(x.shape[1]))
    if len(set(sizes)) > 1:
        raise ValueError(
            f"sample_q and sample_prior must have the same number of dimensions, but have "
            f"{sizes[0]} and {sizes[1]}."
        )
    return sizes[0]
