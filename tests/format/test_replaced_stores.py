"""A store that is replaced while it is opened: the old one or the new one is read, never a mix that looks damaged."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_stores import random_edges, write_store

from pagestore import hdf5, open_store
from pagestore.store import Store
from tests.decoded import decode_edges

OLD, NEW = 2000, 9000  # edges
OPENS = 200
OPENS_S = 10.0
SWAPS = """
import itertools, os

for number in itertools.count():
    os.link(f"{1 - number % 2}.gs", "next.gs")
    os.replace("next.gs", "graph.gs")
    if number == 1:
        print("swapping", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two stores of other sizes, and a link to the first as graph.gs."""
    for number, edges in enumerate((OLD, NEW)):
        write_store(str(tmp_path / f"{number}.gs"), random_edges(seed=number, edges=edges))
    os.link(tmp_path / "0.gs", tmp_path / "graph.gs")
    return tmp_path


def edges_of(store: Store) -> int:
    """Edges, counted by reading every page."""
    sources, _, _ = decode_edges(store.topology("out"))
    assert len(sources) == store.meta.edges
    return len(sources)


@pytest.mark.parametrize(
    ("step", "before", "edges"),
    [
        ("open_located", True, NEW), ("_open_file", True, NEW), ("_open_file", False, OLD), ("_extents", True, OLD),
        ("_extents", False, OLD),
        ("open_located", False, OLD), ("_read_meta", True, OLD),
    ],
)  # fmt: skip
def test_a_store_that_is_replaced_as_it_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool, edges: int
) -> None:
    """Whatever takes its name, what was opened is read to the end."""
    owner = Store if step == "_read_meta" else hdf5
    real = getattr(owner, step)

    def replaced(*given: object) -> object:
        found = None if before else real(*given)
        os.replace(folder / "1.gs", folder / "graph.gs")
        return real(*given) if before else found

    monkeypatch.setattr(owner, step, replaced)
    with open_store(folder / "graph.gs") as store:
        assert edges_of(store) == edges
    monkeypatch.undo()
    with open_store(folder / "graph.gs") as store:
        assert edges_of(store) == NEW


@contextmanager
def swapping(folder: Path) -> Iterator[None]:
    """Another process renames one store and the other over graph.gs, as fast as it can."""
    process = subprocess.Popen([sys.executable, "-c", SWAPS], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "swapping\n"
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_opens_while_another_process_replaces_the_store(folder: Path) -> None:
    found, until = [], time.monotonic() + OPENS_S
    with swapping(folder):
        while len(found) < OPENS and time.monotonic() < until:
            with open_store(folder / "graph.gs") as store:
                found.append(edges_of(store))
    assert set(found) == {OLD, NEW}
