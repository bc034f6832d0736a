"""Rows of stores that change: each is measured, and its answers are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import changes, graphs, run
from bench.context import Context


@pytest.mark.long  # sixteen commands
def test_every_row_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "WORK", tmp_path)
    monkeypatch.setattr(changes, "SHARES", (5,))
    monkeypatch.setattr(changes, "ORDERS", ("degree",))
    monkeypatch.setattr(changes, "SEEDS", 20)
    figures = list(changes.measure(Context("rmat-8", quick=True)))
    assert [figure.what.partition(" ")[0] for figure in figures] == [
        "update",
        "update",
        *changes.FROM,
        *["neighbour"] * 2,
    ]
    assert all(figure.value > 0 for figure in figures)
    assert all(figure.against_value and figure.checked for figure in figures[:-2])
    assert "changes" in run.MEASUREMENTS
