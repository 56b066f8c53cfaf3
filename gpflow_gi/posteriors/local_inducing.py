"""Local inducing points: a Gaussian at the layer's own inducing inputs."""

from typing import Any, cast

from gpflow.base import Parameter

from ..core.basis import Basis
from ..core.gaussians import FreeGaussian, WhitenedGaussian
from ..core.validation import finite_array, output_shape
from .base import Posterior
from .free_parameters import free_parameters
from .pseudo_data import PrecisionKind, PseudoData, check_kind


class LocalInducing(Posterior):
    """A q(z) at the layer's own learned inputs Z, which does not depend on the layers below.

    In a GP layer it is free, q(z) = N(q_mu, q_sqrt q_sqrt^T) with z = L^-1 (u - m): doubly
    stochastic variational inference (Salimbeni & Deisenroth 2017), with the same whitened
    parameters as GPflow's SVGP, so it works with GPflow's NaturalGradient.

    In a layer of weights, which may have more or fewer inducing points than weights, it is the
    exact posterior given pseudo-data at Z (the "local inducing" of Ober & Aitchison 2021, section
    3); ``pseudo_data`` then holds ``pseudo_outputs`` and ``pseudo_precision``, as in
    :class:`GlobalInducing`. A GP layer uses pseudo-data too, if they are given.

    Its parameters are ``inducing_inputs``, Z, and those of its Gaussian: ``q_mu`` and ``q_sqrt``,
    or the pseudo-data's. If none of the latter are given, the layer that takes the posterior
    decides which of the two it has; to ask for `q_mu` before makes it a free Gaussian.

    >>> posterior = LocalInducing([[0.0], [0.5], [1.0]], output_dim=2)
    >>> posterior.q_mu.shape, posterior.q_sqrt.shape
    (TensorShape([3, 2]), TensorShape([2, 3, 3]))
    """

    uses_global_inducing = False
    inducing_inputs: Parameter

    def __init__(
        self,
        inducing_inputs: Any,
        output_dim: int | tuple[int, ...],
        *,
        q_mu: Any = None,
        q_sqrt: Any = None,
        pseudo_outputs: Any = None,
        pseudo_precision: Any = None,
        precision: PrecisionKind = "diagonal",
        shared: bool = True,
    ) -> None:
        """Set up the free Gaussian or the pseudo-data, if an argument of one of them is given.

        Without any, the layer that takes the posterior sets up one of them: see :meth:`bind`.

        :param inducing_inputs: initial Z, [M, D], or images [M, H, W, C], in the units of the
            layer's inputs.
        :param output_dim: P, the number of outputs of the layer; for a convolution the shape of
            its output images; see :class:`GlobalInducing`.
        :param q_mu: whitened means, [M, P]; zero by default.
        :param q_sqrt: lower triangular factors of the whitened covariances, [P, M, M]; the identity
            by default, which makes q the prior.
        :param pseudo_outputs: initial V; see :class:`GlobalInducing`.
        :param pseudo_precision: initial Lambda; see :class:`GlobalInducing`.
        :param precision: kind of Lambda; see :class:`GlobalInducing`.
        :param shared: True if all outputs share one Lambda.
        :raises ValueError: if an array is empty, not finite or of another shape, if P is not a
            positive integer, if `q_sqrt` is not lower triangular, if both a free Gaussian and
            pseudo-data are given, or as :class:`GlobalInducing` for pseudo-data.
        """
        super().__init__()
        shape = output_shape(output_dim)
        self.output_dim = shape if len(shape) > 1 else shape[0]
        Z = finite_array("inducing_inputs", inducing_inputs, (None, None), images=True)
        self.num_inducing = len(Z)
        self.inducing_inputs = Parameter(Z)
        check_kind(precision, shared, shape)
        self._kind: tuple[PrecisionKind, bool] = (precision, shared)
        self.pseudo_data: PseudoData | None = None
        # With neither of the two forms, the layer that takes the posterior decides.
        self._is_free = q_mu is not None or q_sqrt is not None
        given = pseudo_outputs is not None or pseudo_precision is not None
        if self._is_free and (given or len(shape) > 1):
            raise ValueError(
                "q_mu and q_sqrt are the parameters of a free Gaussian, pseudo_outputs and "
                "pseudo_precision those of pseudo-data, which a convolution needs: give one or "
                "the other."
            )
        if self._is_free:
            self._set_free(q_mu, q_sqrt)
        elif given or len(shape) > 1:
            self.pseudo_data = self._new_pseudo_data(pseudo_outputs, pseudo_precision)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Set up what the constructor left to the layer: pseudo-data for a layer of weights.

        For a Gaussian process it is the free Gaussian.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if the posterior has a free Gaussian and the layer has weights.
        """
        if self.pseudo_data is not None:
            return
        if num_weights is None and not self._is_free:
            self._set_free()
        elif num_weights is not None:
            if self._is_free:
                raise ValueError(
                    "posterior is a LocalInducing with q_mu and q_sqrt, the values of a Gaussian "
                    "process; a layer of weights needs one with pseudo_outputs and "
                    "pseudo_precision, or without any of these."
                )
            self.pseudo_data = self._new_pseudo_data()

    def _set_free(self, q_mu: Any = None, q_sqrt: Any = None) -> None:
        self._is_free = True
        (P,) = output_shape(self.output_dim)
        M = self.inducing_inputs.shape[0]
        self.q_mu, self.q_sqrt = free_parameters(M, P, q_mu, q_sqrt)

    def __getattr__(self, name: str) -> Any:
        # For what is not set yet. Whoever asks for the means before a layer takes the posterior
        # decides that it is a free Gaussian.
        is_open = vars(self).get("_is_free") is False and self.pseudo_data is None
        if name in ("q_mu", "q_sqrt") and is_open:
            self._set_free()
            return vars(self)[name]
        raise AttributeError(
            f"This {type(self).__name__} has no {name}: a free Gaussian has q_mu and q_sqrt, and "
            "pseudo-data have pseudo_outputs and pseudo_precision."
        )

    def _new_pseudo_data(self, outputs: Any = None, precision: Any = None) -> PseudoData:
        """Pseudo-data at Z; by default zero outputs with precision one."""
        kind, shared = self._kind
        return PseudoData(
            self.inducing_inputs.shape[0],
            cast("int | tuple[int, ...]", self.output_dim),
            pseudo_outputs=outputs,
            pseudo_precision=precision,
            precision=kind,
            shared=shared,
        )

    @property
    def pseudo_outputs(self) -> Any:
        """V, [M, P] or [M, H, W, P], if there are pseudo-data.

        :raises AttributeError: for a free Gaussian.
        """
        return self._pseudo_data().pseudo_outputs

    @property
    def pseudo_precision(self) -> Any:
        """Lambda, if there are pseudo-data; see :class:`GlobalInducing`.

        :raises AttributeError: for a free Gaussian.
        """
        return self._pseudo_data().pseudo_precision

    def _pseudo_data(self) -> PseudoData:
        if self.pseudo_data is None:
            raise AttributeError  # Python then asks __getattr__, which has the message
        return self.pseudo_data

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        if self.pseudo_data is not None:
            return self.pseudo_data.regression(basis, outputs)
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])
