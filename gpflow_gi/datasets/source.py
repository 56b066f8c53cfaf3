"""The columns of a table before preprocessing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .preprocessing import Preprocessing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Source:
    """The columns from which inputs are made.

    :param frame: [N rows], from :meth:`.Preprocessing.typed`.
    :param preprocessing: the map from them to inputs.
    :param notes: what was decided when the file was read, for its user; a sentence each.
    """

    frame: pd.DataFrame
    preprocessing: Preprocessing
    notes: tuple[str, ...] = ()

    def rows(self, index: Any) -> Source:
        """The rows numbered `index`, preprocessed as before."""
        return replace(self, frame=self.frame.iloc[index] if len(self.frame) else self.frame)

    def learned(self) -> Source:
        """The same rows, with medians and categories of these rows alone."""
        before = self.preprocessing
        fitted = Preprocessing.fit(self.frame, before.columns, before.impute)
        return replace(self, preprocessing=fitted)
