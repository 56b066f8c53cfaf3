"""What a misspelt name may have meant."""

import difflib
from collections.abc import Iterable


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Those of `names` that are like `name`, capitals or not: at most three, the nearest first."""
    by_lower_case = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), by_lower_case, n=3)
    return [by_lower_case[other] for other in near]
