"""A mixture of posteriors over all weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tensorflow as tf

from ..core.random import fold_in
from ..core.validation import shown
from .gaussian import DensityPosterior
from .samples import stratified
from .weight_posterior import WeightPosterior


class Mixture(DensityPosterior):
    """An equal-weight mixture of posteriors of one network: of Laplace approximations, or
    MultiSWAG.

    It has a density if each component has one. The network, its priors and its likelihood are those
    of the first component.
    """

    def __init__(self, components: Sequence[WeightPosterior], *, num_samples: int = 1) -> None:
        """Put components together.

        :param components: posteriors over the weights of one network.
        :param num_samples: S, the default number of samples.
        :raises TypeError: if they are not a list of posteriors over weights.
        :raises ValueError: if there is none, or if their networks have different sizes.
        """
        if not isinstance(components, Sequence) or not all(
            isinstance(component, WeightPosterior) for component in components
        ):
            raise TypeError(
                "components must be a list of posteriors over weights, such as "
                f"gpflow_gi.inference.Gaussian, but is {shown(components)}."
            )
        if not components:
            raise ValueError("components must hold at least one posterior, but is empty.")
        sizes = {component.space.size for component in components}
        if len(sizes) > 1:
            raise ValueError(
                f"components must be of one network, but have {sorted(sizes)} coordinates."
            )
        super().__init__(components[0].network, num_samples=num_samples)
        self.components = list(components)

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        """True if every component has a density that is known at every theta."""
        return all(_has_density(component) for component in self.components)

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw S samples, stratified over the components; see the base class."""
        which = stratified(num_samples, len(self.components), fold_in(seed, 0))
        drawn = [
            component.sample(num_samples, fold_in(seed, 1 + i))[0]
            for i, component in enumerate(self.components)
        ]
        theta = tf.gather(tf.stack(drawn, axis=1), which, batch_dims=1)
        return theta, self.log_density(theta) if self.has_density else None

    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        densities = [
            component.log_density(theta)
            for component in self.components
            if isinstance(component, DensityPosterior)
        ]
        return tf.reduce_logsumexp(densities, axis=0) - math.log(len(densities))

    def why_no_density(self) -> str:
        without = next(one for one in self.components if not _has_density(one))
        return without.why_no_density()


def _has_density(component: WeightPosterior) -> bool:
    return isinstance(component, DensityPosterior) and component.has_density
