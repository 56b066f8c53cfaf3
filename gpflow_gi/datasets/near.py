"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Names similar to `name`, ignoring case: at most three, the nearest first."""
    by_lower_case = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), by_lower_case, n=3)
    return [by_lower_case[other] for other in near]
