"""The prior of any model that can be drawn, as an implicit process."""

from __future__ import annotations

from typing import Any

import gpflow
import tensorflow as tf

from ..core.process import Functions, Process
from ..core.validation import positive_integer, shown
from ..inference import Linearised, WeightPosterior
from ..inference.linearised import LinearisedDraws
from ..kernels.functions import NoFunctionError
from ..models import DeepGP
from ..models.pathwise_functions import drawn_layers, through


class PriorProcess(Process):
    """The prior of a model: a deep Gaussian process, or a network of any layers.

    It has copies of the prior's parameters: kernels, mean functions, scales of weights. The prior
    of a network that is linearised at weights m is f(x, m) + J(x) (w - m), with w from the
    network's prior (Immer, Korzepa & Bauer 2021); nothing of it is trained.

    >>> import numpy as np
    >>> import gpflow_gi as gi
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> process = PriorProcess(gi.architectures.build_deep_gp(X, X, num_inducing=5))
    >>> process.draw(3)(X).shape
    TensorShape([3, 20, 1])
    """

    def __init__(self, model: Any, *, num_features: int = 100, seed: int = 0) -> None:
        """Copy the prior.

        :param model: a :class:`~gpflow_gi.models.DeepGP`, a posterior over its weights, or one that
            is linearised. Kernels can be those of :class:`KernelProcess`.
        :param num_features: F, the number of random frequencies in each draw of a Gaussian process
            layer.
        :param seed: the seed of draws for which none is given, from 0 to 2^32 - 1.
        :raises TypeError: if `model` is none of these.
        :raises ValueError: if the number of inputs is not known, if a kernel cannot be drawn as
            functions, if a number is not a positive integer, or if the seed is not a seed.
        """
        network = model
        if isinstance(model, Linearised) or (
            isinstance(model, WeightPosterior) and not model.is_of_target
        ):
            network = model.network
        if not isinstance(network, DeepGP):
            raise TypeError(
                "model must be a gpflow_gi.models.DeepGP, a posterior over the weights of one, or "
                f"its linearisation, but is {shown(model)}."
            )
        if network.input_dim is None:
            raise ValueError(
                "The number of inputs of the model is not known. Give the model inducing_inputs, "
                "or a first layer that has its number of inputs, such as a DenseLayer."
            )
        super().__init__(network.input_dim, network.output_dim, seed)
        self.num_features = positive_integer("num_features", num_features)
        if isinstance(model, Linearised):
            self.model = gpflow.utilities.deepcopy(model)
            gpflow.set_trainable(self.model, False)
            return
        self.model = network.prior_model()
        gpflow.set_trainable(self.model.likelihood, False)  # no draw depends on it
        try:
            self.functions(2, self.own_seed)
        except NoFunctionError as error:
            raise ValueError(f"A layer's kernel cannot be drawn as functions: {error}.") from None
        except NotImplementedError as error:  # a layer of the user's own
            raise ValueError(f"A layer cannot be drawn as functions: {error}") from None

    def functions(self, num_draws: int, seed: tf.Tensor) -> Functions:
        if isinstance(self.model, Linearised):
            theta = self.model.posterior_of_weights.space.draw_prior(num_draws, seed)
            draws = LinearisedDraws(self.model.posterior_of_weights, num_draws, theta, None, None)
            return lambda X: draws(X, seed)
        layers = drawn_layers(self.model, self.input_dim, num_draws, seed, self.num_features)
        return lambda X: through(layers, X)
