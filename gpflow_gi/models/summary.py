"""A model's architecture and parameters, printed."""

from typing import Any

import gpflow

from .architecture import architecture
from .deep_gp import DeepGP


def print_summary(model: Any) -> None:
    """Print the layers of a model, and then GPflow's table of its parameters.

    The lines of a :class:`~gpflow_gi.models.DeepGP` are those of its ``repr``: the type and number
    of trained parameters; of each layer its place, type, widths, posterior, kernel or prior, and
    trained parameters; the likelihood. ``gpflow.utilities.print_summary`` prints the table alone.

    :param model: a GPflow model; one that is no `DeepGP`, but was made from one, as a
        :class:`~gpflow_gi.inference.WeightPosterior` is, has the lines of that one.
    :raises TypeError: if it is not a GPflow module.
    """
    if not isinstance(model, gpflow.base.Module):
        raise TypeError(f"model must be a GPflow model, but is a {type(model).__name__}.")
    layered = model if isinstance(model, DeepGP) else getattr(model, "network", None)
    if isinstance(layered, DeepGP):
        if layered is not model:
            print(f"{type(model).__name__} of all weights of this network:")
        print(architecture(layered), end="\n\n")
    gpflow.utilities.print_summary(model)
