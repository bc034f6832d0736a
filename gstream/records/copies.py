"""Copies of an array that several devices have changed become one again."""

from __future__ import annotations

import numpy as np


def merge_copies(how: str, array: np.ndarray, copies: list[np.ndarray]) -> None:
    """array becomes what its copies come to, each changed by one GPU or rank (gstream.records says how)."""
    before = array.copy()
    if how == "note":
        array[0] += sum(int(copy[0] - before[0]) for copy in copies)
        found = [copy for copy in copies if copy[0] > before[0]]
        if before[0] == 0 and found:
            array[1:] = found[0][1:]
        return
    for copy in copies:
        if how == "or":
            array |= copy
        elif how in ("min", "max"):
            (np.minimum if how == "min" else np.maximum)(array, copy, out=array)
        elif how == "sum":
            array += copy - before
        else:  # one
            np.copyto(array, copy, where=copy != before)
