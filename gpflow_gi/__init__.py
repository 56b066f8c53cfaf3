"""gpflow_gi: deep Gaussian processes and Bayesian neural networks with global inducing points.

Ober & Aitchison, "Global inducing point variational posteriors for Bayesian neural networks and
deep Gaussian processes", ICML 2021, arXiv:2005.08140.

Submodules are imported on first use, so that the command line can answer ``--help`` without
waiting for TensorFlow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import architectures as architectures
    from . import benchmark as benchmark
    from . import bounds as bounds
    from . import classification_metrics as classification_metrics
    from . import datasets as datasets
    from . import estimators as estimators
    from . import implicit as implicit
    from . import inference as inference
    from . import interop as interop
    from . import kernels as kernels
    from . import layers as layers
    from . import metrics as metrics
    from . import models as models
    from . import nonlinearities as nonlinearities
    from . import objectives as objectives
    from . import persistence as persistence
    from . import plotting as plotting
    from . import posteriors as posteriors
    from . import priors as priors
    from . import training as training
    from .persistence import export as export
    from .persistence import load as load
    from .persistence import save as save
    from .training.fit import fit as fit

_SUBMODULES = (
    "architectures",
    "benchmark",
    "bounds",
    "classification_metrics",
    "datasets",
    "estimators",
    "implicit",
    "inference",
    "interop",
    "kernels",
    "layers",
    "metrics",
    "models",
    "nonlinearities",
    "objectives",
    "persistence",
    "plotting",
    "posteriors",
    "priors",
    "training",
)

_FUNCTIONS = {
    "export": "persistence",
    "fit": "training",
    "load": "persistence",
    "save": "persistence",
}

__all__ = ["__version__", *_FUNCTIONS, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module(f".{_FUNCTIONS[name]}", __name__), name)
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
