"""Weights that are too small for 4-byte floats are counted and said, whatever the input."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pagestore.convert import ConvertOptions, convert
from pagestore.inputs import InputOptions, open_source
from pagestore.inputs.decimals import nearest_double
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


@pytest.mark.parametrize("text", ["1e-330", "-2.5E-99999999999", "0." + "0" * 400 + "1"])
def test_text_too_small_for_doubles_is_no_zero_without_a_word(text, tmp_path):
    (tmp_path / "a.txt").write_text(f"0 1 {text}\n1 2 0e-400\n2 0 1\n")
    source = open_source([tmp_path / "a.txt"], InputOptions(weight_column=3), tmp_path, 1 << 28)
    report = convert(source, tmp_path / "a.gs", ConvertOptions(threads=1))
    notes = [note for note in report.notes if "lost digits" in note]
    assert len(notes) == 1 and re.search(r"1 weight below 1\.2e-38 lost digits, -?4\.9\d*e-324 is stored as", notes[0])


@pytest.mark.skipif(np.finfo(np.longdouble).tiny == 0 or np.longdouble("1e-4000") == 0, reason="no wider floats here")
def test_long_doubles_too_small_for_doubles_are_no_zero_without_a_word(tmp_path):
    rows = np.zeros(2, [("source", "i8"), ("target", "i8"), ("weight", np.longdouble)])
    rows["target"], rows["weight"] = [1, 2], [np.longdouble("-1e-4000"), 0]
    np.save(tmp_path / "a.npy", rows)
    report = convert(open_source([tmp_path / "a.npy"], InputOptions(), tmp_path, 1 << 28), tmp_path / "a.gs")
    assert [note for note in report.notes if "1 weight below 1.2e-38 lost digits" in note]


def test_only_what_is_0_is_read_as_0():
    assert nearest_double("-0.0e5") == 0 and nearest_double("-1e-999") == -5e-324 and nearest_double("1e999") == np.inf
