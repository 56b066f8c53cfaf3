"""Inference that is no choice of q(z): sampling a network's exact posterior."""

from .nuts import NutsResult, nuts

__all__ = ["NutsResult", "nuts"]
