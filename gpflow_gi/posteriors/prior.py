"""The prior as a posterior, q = p: the lower layers of the paper's "rand -> gi"."""

from ..core.basis import Basis
from ..core.gaussians import StandardNormal, WhitenedGaussian
from .base import Posterior


class Prior(Posterior):
    """The prior itself as the approximate posterior; it has no parameters, and a KL of zero.

    Below a global layer this is the "rand -> gi" of Ober & Aitchison (2021), section 3.2: the lower
    layers are drawn from the prior, at the inducing points and at the data as values of one
    function, and the global layer above adapts to each draw.
    """

    uses_global_inducing = False
    num_inducing = None
    output_dim = None

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        return StandardNormal(basis.zero(outputs.stop - outputs.start))
