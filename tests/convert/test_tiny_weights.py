"""Weights that are too small for 4-byte floats are counted and said, whatever the input."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pagestore.memory import convert_arrays


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1e-50, 0.5, 0.0], r"1 weight below 1\.2e-38 lost digits, 1e-50 is stored as 0: "),
        ([-1e-50, 1e-42, 1.5], r"2 weights below 1\.2e-38 lost digits, -1e-50 is stored as -0: "),
        ([2.0**-140, 2.0**-126, 0.1], None),
    ],
)
def test_weights_that_float32_makes_0(weights, said, tmp_path):
    report = convert_arrays(tmp_path / "a.gs", np.array([0, 1, 2]), np.array([1, 2, 3]), np.array(weights))
    assert [bool(note) for note in report.notes] == ([True] if said else [])
    if said:
        assert re.search(said, report.notes[0])
