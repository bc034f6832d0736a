"""Pages and heads that lie under a right checksum are refused as they come into memory, before any kernel sees them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_verify import EDGES, written

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from pagestore import open_store
from pagestore.check import first_unsound, unsound
from pagestore.errors import StoreError
from pagestore.memory import convert_arrays
from pagestore.planning import PagePlanner

MADE = "breaks the format though its checksum is right: no accident made it so"


def with_word(tmp_path, number: int, word: int, value: int) -> str:
    """A store whose page `number` has `value` in word `word`, and right checksums."""

    def change(writer, pages, weights):
        pages.view(np.uint32)[number, word] = value
        writer.write_pages("out", number, pages[number : number + 1], weights[number : number + 1])

    return written(tmp_path, change)


def refused(path: str) -> str | None:
    """What reading all its out-pages ends with."""
    with open_store(path) as store:
        topology = store.topology("out")
        with topology.reader() as reader:
            try:
                reader.read(0, topology.pages)
            except StoreError as error:
                return str(error)
    return None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (8, 2000),
        (8, 3),
        (8, 0),
        (9, 200),
        (9, 0xFFFFFFFF),
        (1022, 199),
        (1022, 1 << 31),
        (1023, 9),
        (1023, 1 << 31),
    ],
)
def test_words_of_a_page_that_lead_elsewhere(tmp_path, word, value):
    """Word 8 of a small page is its first record's size, 9 a neighbour, 1022 and 1023 its first slot."""
    path = with_word(tmp_path, 0, word, value)
    said = refused(path)
    assert said is not None and "page 0 of topology out (vertices 0 to" in said and MADE in said
    for devices in (["host:2"], ["fake:1:2"]):
        options = RunOptions(devices=devices, direction="push")
        with open_store(path) as store, Engine(store, options) as engine, pytest.raises(StoreError, match=MADE):
            engine.run(BFS(source=0))


def test_a_neighbour_of_a_hub_that_is_no_vertex(tmp_path):
    """In the last large page, which other pages that are right come before."""
    with open_store(written(tmp_path, lambda *given: None)) as store:
        last = store.topology("out").pages - 1
        assert store.topology("out").small_pages <= last
    said = refused(with_word(tmp_path, last, 9, 200))
    assert said is not None and re.search(rf"page {last} of topology out \(vertex \d+ from neighbour .*{MADE}", said)


def test_what_reads_nothing_else_passes(tmp_path):
    """Lists that do not ascend, words that belong to no list: for gstream verify."""
    assert refused(with_word(tmp_path, 0, 9, 199)) is None
    with open_store(str(tmp_path / "whole.gs")) as store:
        topology = store.topology("out")
        number = topology.small_pages - 1
        used = 8 + int(topology.directory[number]["edges"] + topology.directory[number]["records"])
    assert refused(with_word(tmp_path, number, used, 1)) is None


def test_sizes_past_the_last_vertex_are_no_neighbours(tmp_path):
    """A vertex of more edges than there are vertices."""
    source, target = np.zeros(500, np.int64), np.arange(500) % 7
    convert_arrays(tmp_path / "few.gs", source, target, vertices=7, page_bytes=4096, memory_bytes=1 << 24)
    assert refused(str(tmp_path / "few.gs")) is None


@pytest.mark.covering(1)
@pytest.mark.parametrize("columns", [1, 32])
@pytest.mark.parametrize("id_bytes", [4, 8])
def test_every_word_of_a_page(tmp_path, monkeypatch, columns, id_bytes):
    """Whichever is overwritten: where the check passes, all lists lie in the page, and neighbours are vertices."""
    monkeypatch.setattr(PagePlanner, "waste", 4)
    source, target = np.repeat(np.arange(60), 5), np.random.default_rng(3).integers(0, 60, 300)
    options = {"page_bytes": 4096, "memory_bytes": 1 << 24, "columns": columns, "id_bytes": id_bytes}
    convert_arrays(tmp_path / "some.gs", source, target, vertices=60, **options)
    with open_store(str(tmp_path / "some.gs")) as store, store.topology("out").reader() as reader:
        topology = store.topology("out")
        page, row = reader.read(0, 1), topology.directory[0]
        assert (row["layout"] > 1) == (columns > 1)
        words, passed = page.view(topology.layout.id_dtype), 0
        for word in range(words.shape[1]):
            for value in (60, 59, 0, 4095, np.iinfo(words.dtype).max):
                before, words[0, word] = words[0, word], value
                if unsound(topology.layout, topology.directory[:1], topology.last_id, page) is None:
                    passed += 1
                    lists_lie_within(words[0], int(row["records"]), max(1, int(row["layout"])))
                words[0, word] = before
    assert passed > 300  # what is in no list; vertices for vertices


def lists_lie_within(words: np.ndarray, records: int, stride: int) -> None:
    for slot in range(records):
        vertex, start = (int(word) for word in words[len(words) - 2 * slot - 2 :][:2])
        size = int(words[start])
        places = start + stride * np.arange(1, size + 1)
        assert vertex < 60 and size > 0 and places[-1] < len(words) - 2 * records
        assert (words[places] < 60).all()


@pytest.mark.parametrize("topology", ["in", "out"])
def test_heads_that_are_no_vertices(tmp_path, topology):
    source, target = np.arange(40), (np.arange(40) * 7 + 1) % 40
    convert_arrays(tmp_path / "whole.gs", source, target, vertices=40, page_bytes=4096, memory_bytes=1 << 24)
    with open_store(str(tmp_path / "whole.gs")) as store:
        found = store.topology(topology)
        assert found.heads().shape == (40, 4)
        changed = found.heads().copy()
        changed[17, 0] = 40
        found._heads.read = lambda first, last: changed
        with pytest.raises(StoreError, match=f"heads of topology {topology} name vertices that are not there, though"):
            found.heads()
        changed[17, 0] = 39
        assert found.heads() is changed
        changed[17, 0] = 40
        assert found.heads(check=False) is changed


def test_the_first_of_several_pages_is_named():
    """Of three pages that hold nothing right, each is the first in turn."""
    words, ones = np.zeros((3, 64), np.uint32), np.ones(3, np.uint32)
    for page in words:
        page[8:10], page[-2:] = (1, 2), (5, 8)  # one record: vertex 5, a list of vertex 2 from word 8 on
    given = (np.uint64(8), np.uint32(9), ones, 5 * ones, 5 * ones, ones, 0 * ones)
    scratch = np.zeros((2, 1), np.uint64)
    assert first_unsound(words, *given, *scratch) == 3
    for number in (2, 1, 0):
        words[number, 9] = 10
        assert first_unsound(words, *given, *scratch) == number


def test_edges_of_the_test_have_hubs():
    assert np.bincount(EDGES.source).max() > 2000
