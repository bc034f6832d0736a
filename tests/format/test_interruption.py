"""Ctrl-C that a library or a clean-up made another error of is still Ctrl-C; one that a caller handles is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_stores import random_edges, write_store

from pagestore import open_store
from pagestore.errors import InputError, StoreError, interruption
from pagestore.hdf5 import locate
from pagestore.inputs.npy import ArrayStream


@pytest.fixture
def intact(tmp_path):
    path = str(tmp_path / "intact.gs")
    write_store(path, random_edges(vertices=50, edges=300))
    return path


def test_what_a_system_error_hides(intact, monkeypatch):
    def fail(*given):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("pagestore.hdf5._extent", fail)
    with pytest.raises(KeyboardInterrupt):
        locate(intact)
    assert interruption(SystemError("of its own"), None) is None


def test_what_a_caller_handles_is_hidden_by_nothing(intact, tmp_path):
    """A program that opens a store, or an array, after Ctrl-C: what is wrong with it is no interruption."""
    cut, array = tmp_path / "cut.gs", tmp_path / "cut.npy"
    cut.write_bytes(Path(intact).read_bytes()[:5000])
    array.write_bytes(b"\x93NUMPY")
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(StoreError, match="is cut: 5000 of its "):
            open_store(cut)
        with open(array, "rb") as file, pytest.raises(InputError, match="is not a NumPy array"):
            ArrayStream("cut.npy", file)


def test_what_a_clean_up_that_fails_hides():
    """It was cut short itself, so that what it closes again is closed."""
    for hidden in (KeyboardInterrupt(), SystemExit(3), ValueError()):
        try:
            try:
                raise hidden
            finally:
                raise OSError(9, "Bad file descriptor")
        except OSError as error:
            found = interruption(error, None)
        assert found is (None if isinstance(hidden, ValueError) else hidden)
