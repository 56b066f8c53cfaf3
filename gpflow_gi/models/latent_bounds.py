"""Bounds of a chain of layers of which some append latent variables to the rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import Seed, as_seed
from ..core.validation import finite_tensor, positive_integer
from ..layers import DataRows, Deterministic, Layer, RowLatents
from ..layers.residual import every_layer
from . import row_importance
from .finite import check_outputs
from .latent_rows import numbered, split_index
from .no_density import NoDensityError
from .predictive import Predictive


class LatentBounds(Predictive):
    """A chain of layers; with latent variables its bounds have terms of each row."""

    layers: list[Layer | Deterministic]
    """The layers, from the inputs up."""

    @property
    def latents(self) -> list[RowLatents]:
        """The layers with latent variables of the rows."""
        return [layer for layer in self.layers if isinstance(layer, RowLatents)]

    def numbered(self, Y: tf.Tensor) -> tf.Tensor:
        return numbered(self, Y)

    def data_rows(self, data: tuple[Any, Any]) -> DataRows:
        (X, Y), index = split_index(self, data)
        return DataRows(*self.check_data((X, Y)), index)

    def arrays_of(self, data: tuple[Any, Any]) -> list[tf.Tensor]:
        rows = self.data_rows(data)
        return [rows.X, rows.Y]

    @check_shapes("return: []")
    def iwbo(self, data: tuple[Any, Any], num_samples: int, seed: Seed = None) -> tf.Tensor:
        """An estimate of the importance weighted bound.

        Without latent variables it is :meth:`gpflow_gi.models.Predictive.iwbo`.

        With latent variables it is a sum over rows of log 1/K sum_k w_nk, minus the KL divergence
        of the layers (Salimbeni et al. 2019): `num_samples` is K, the number of samples of each
        row's latent variables, and the data may be a minibatch. It lies between the ELBO and the
        log evidence, and rises with K.

        :param data: X [N, D] and Y [N, Q]; without latent variables, all rows that the model is
            trained on.
        :param num_samples: the number of samples, S or K.
        :param seed: see the class.
        :return: [], in nats.
        :raises ValueError: if the data do not fit the model.
        :raises NoDensityError: if the posterior has no density.
        """
        if not self.latents:
            return super().iwbo(data, num_samples, seed)
        K = positive_integer("num_samples", num_samples)
        first, kl = self.importance_weighted_terms(
            data, K, self.num_samples, seed, doubly_reparameterised=False
        )
        if tf.executing_eagerly():
            check_outputs(self.arrays_of(data), first - kl, what="The bound")
        return first - kl

    @check_shapes("return[0]: []", "return[1]: []")
    def importance_weighted_terms(
        self,
        data: tuple[Any, Any],
        num_importance_samples: int,
        num_samples: int | None = None,
        seed: Seed = None,
        *,
        doubly_reparameterised: bool = True,
        weights: Any = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The two terms of the importance weighted bound of a model with latent variables.

        :param data: X [B, D] and Y [B, Q]: all rows, or a minibatch.
        :param num_importance_samples: K, the samples of each row's latent variables.
        :param num_samples: S, functions over which the bound is averaged; the model's own number
            by default.
        :param seed: see the class.
        :param doubly_reparameterised: True for the gradient of Tucker et al. (2019) with respect to
            q(h), whose error falls with K, unlike that of the plain gradient.
        :param weights: of the rows' terms, [B]; None for weights of 1.
        :return: the first term, scaled to all rows, and the KL divergence of the layers; two of [],
            in nats.
        :raises ValueError: if the data do not fit the model, there is not one weight for each row,
            or the model has no latent variables.
        :raises NoDensityError: if the posterior has no density.
        """
        if not self.latents:
            raise ValueError(
                "The model has no latent variables, so that no bound of it is a sum over rows. "
                "Put a gpflow_gi.layers.LatentVariableLayer among its layers, or use iwbo."
            )
        S = self.num_samples if num_samples is None else num_samples
        rows = self.data_rows(data)
        if rows.X.shape[0] == 0:
            raise ValueError("The bound needs at least one row of data, but X has none.")
        if not all(layer.has_density for layer in every_layer(self.layers)):
            raise NoDensityError(self.why_no_density())
        if weights is not None:
            weights = finite_tensor("weights", weights)
            if weights.shape.rank != 1 or not weights.shape.is_compatible_with(rows.X.shape[:1]):
                raise ValueError(
                    f"weights must be numbers for each of {rows.X.shape[0]} rows, [B], but have "
                    f"shape {weights.shape.as_list()}."
                )
        return row_importance.bound_terms(
            self,
            rows,
            positive_integer("num_importance_samples", num_importance_samples),
            positive_integer("num_samples", S),
            as_seed(seed),
            doubly_reparameterised=doubly_reparameterised,
            weights=weights,
        )
