"""Layers whose posterior may draw the outputs at inducing inputs, with q(u) and p(u) as samples."""

from __future__ import annotations

from abc import abstractmethod

import tensorflow as tf

from ..posteriors import Posterior


class InducingSamples:
    """Samples of the values u at the posterior's inducing inputs, from q(u) and from the prior.

    An objective that compares q(u) with p(u) without their densities needs no more. M inducing
    inputs and P outputs are L = M P numbers: the outputs at the first input, then those at the
    second.
    """

    posterior: Posterior

    @abstractmethod
    def prior_values(self, X: tf.Tensor, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw the layer's outputs from its prior, with the present parameters.

        :param X: [N, D].
        :param num_samples: the number of samples, S.
        :param seed: [2].
        :return: [S, N, P]; the rows of a sample are of one function.
        """

    def sample_q(self, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw u ~ q(u), for posteriors that draw it.

        :param num_samples: the number of samples, S.
        :param seed: [2].
        :return: [S, L], in the units of the layer's outputs.
        :raises NotImplementedError: if the posterior is a Gaussian.
        """
        return _flat(self.posterior.sample_outputs(num_samples, seed))

    def sample_prior(self, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw u ~ p(u) at the posterior's inducing inputs.

        :param num_samples: the number of samples, S.
        :param seed: [2].
        :return: [S, L], in the units of the layer's outputs.
        """
        nothing = tf.zeros([0, 0], tf.float64)  # nothing comes from the layers below
        return _flat(self.prior_values(self.posterior.basis_inputs(nothing), num_samples, seed))


def _flat(values: tf.Tensor) -> tf.Tensor:
    return tf.reshape(values, [values.shape[0], values.shape[1] * values.shape[2]])
