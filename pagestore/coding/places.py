"""Where the coded pages of a topology lie: one after the other, in page order, each a multiple of 16 bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Places:
    """Of a topology: page p has bytes pages[p] to pages[p+1] of its dataset, i8[pages + 1], and weights likewise.

    weights: None without weights.
    """

    pages: np.ndarray
    weights: np.ndarray | None

    def sizes(self, weights: bool = False) -> np.ndarray:
        """Stored bytes of each page, i8[pages]; with those of its weights if `weights`."""
        found = np.diff(self.pages)
        return found + np.diff(self.weights) if weights and self.weights is not None else found
