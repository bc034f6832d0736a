"""What is no store is refused in plain words: what, where, the limit, the remedy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from small_stores import random_edges, write_store

import pagestore
from pagestore import open_store
from pagestore.arrays import datasets_of
from pagestore.crc import crc32
from pagestore.errors import StoreError, UsageError
from pagestore.hdf5 import create, locate
from pagestore.meta import Meta, decode_meta, encode_meta


@pytest.fixture(scope="module")
def intact(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("open") / "intact.gs")
    write_store(path, random_edges(vertices=50, edges=300))
    return path


def refusal(path: str) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert caught.value.exit_code == 4
    text = str(caught.value)
    assert "\n" not in text and text.startswith(f"{path}: ")
    return text[len(path) + 2 :]


def test_a_missing_file(tmp_path):
    path = str(tmp_path / "no.gs")
    assert refusal(path) == f"no such file. Make a store with `gstream convert INPUT {path}`."


def test_a_folder(tmp_path):
    assert refusal(str(tmp_path)) == "is a folder; a store is one file. Name the file."


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path):
    path = tmp_path / "g.gs"
    path.write_bytes(b"x")
    path.chmod(0)
    assert "can't be opened (permission denied)" in refusal(str(path))


def test_an_empty_file(tmp_path):
    path = tmp_path / "g.gs"
    path.write_bytes(b"")
    assert refusal(str(path)).startswith("is empty; a store is never empty.")


@pytest.mark.parametrize("data", [b"0 1\n1 2\n", b"\x89HDF", b"\x00" * 5000])
def test_a_file_of_another_kind(tmp_path, data):
    path = tmp_path / "edges.txt"
    path.write_bytes(data)
    assert refusal(str(path)) == f"is not a store (no HDF5 signature). Convert it: `gstream convert {path} STORE`."


def test_another_hdf5_file(tmp_path):
    path = str(tmp_path / "other.h5")
    create(path, {"data": (np.dtype("u1"), (10,))}, {}, 4096)
    assert refusal(path) == "is an HDF5 file but no gstream store. Make one with `gstream convert`."


def test_another_version(intact, tmp_path):
    """Whatever its description has become: with a checksum somewhere else, or with the same one."""
    with open_store(intact) as store:
        offset = store.extents["meta"].offset
    path = tmp_path / "new.gs"
    for text in (
        b'{"crc32":"00000000","format":"gstream page store","version":4}',
        b'{"format":"gstream page store","version":4}',
    ):
        document = text.ljust(65536)
        if text.startswith(b'{"crc32"'):
            document = document[:10] + f"{crc32(document):08x}".encode() + document[18:]
        data = bytearray(Path(intact).read_bytes())
        data[offset : offset + 65536] = document
        path.write_bytes(data)
        assert refusal(str(path)).startswith("is a store of version 4; this gstream reads versions 1 to 3.")


def test_datasets_that_are_not_plain_bytes_of_the_file(tmp_path):
    """Compressed, in pieces, in another file, never given a place, or of variable length: none is read by offset."""
    path = str(tmp_path / "g.h5")
    plainly = "dataset x is not plainly contiguous"
    for words, options in (
        (plainly, {"shape": (100,), "dtype": "u1", "compression": "gzip"}),
        (plainly, {"shape": (100,), "dtype": "u1", "chunks": (10,)}),
        (plainly, {"shape": (100,), "dtype": "u1", "external": [(str(tmp_path / "other"), 0, 100)]}),
        ("dataset x ends past the end of the file", {"shape": (100,), "dtype": "u1"}),
        ("dataset x ends past the end of the file", {"shape": (2,), "dtype": h5py.string_dtype(), "data": ["a", "b"]}),
    ):
        with h5py.File(path, "w", libver=("v110", "v110")) as file:
            file.create_dataset("x", **options)
        assert words in refusal(path)


def test_names_that_are_no_text(tmp_path):
    path = str(tmp_path / "g.h5")
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file[b"caf\xe9"] = np.zeros(3)
    assert list(locate(path)) == ["caf\\xe9"]


def test_only_what_lies_in_the_file_itself_is_found(tmp_path):
    """No links to other files, to other places or back to where they stand."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["there"] = np.zeros(3)
    path = str(tmp_path / "g.h5")
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file["group/here"] = np.arange(3)
        file["soft"] = h5py.SoftLink("/group/here")
        file["lost"] = h5py.SoftLink("/nothing")
        file["external"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/there")
        file["group/again"] = file["/"]
    assert list(locate(path)) == ["group/here"]


def test_only_blanks_stand_behind_a_description():
    whole = encode_meta(Meta(vertices=9, edges=12, directed=True, page_bytes=4096, id_bytes=4), {"a": 1})
    for rest, is_read in ((b"", True), (b" \n\t\r ", True), (b" x ", False), (b" } ", False), (b" {} ", False)):
        text = (whole.rstrip() + rest).ljust(len(whole))
        text = text[:10] + b"0" * 8 + text[18:]
        text = text[:10] + b"%08x" % crc32(text) + text[18:]
        if is_read:
            assert decode_meta(text, "a.gs") == decode_meta(whole, "a.gs")
        else:
            with pytest.raises(StoreError, match="can't be read"):
                decode_meta(text, "a.gs")


def test_checksums_of_another_number(tmp_path, monkeypatch):
    """Of an array that the description does not know, whose sizes follow from nothing else."""
    path = str(tmp_path / "g.gs")

    def and_more(*given):
        more = {"checksums/extra": (np.dtype("<u4"), (2,)), "extra": (np.dtype("u1"), (10,))}
        return datasets_of(*given) | more

    with monkeypatch.context() as patch:
        patch.setattr("pagestore.writer.datasets_of", and_more)
        write_store(path, random_edges(vertices=50, edges=300))
    assert refusal(path).startswith("checksums/extra has 2 entries.")


def test_a_partial_store(tmp_path):
    """What a killed conversion leaves has no description yet."""
    path = str(tmp_path / "g.gs")
    write_store(path, random_edges(), finish=False).close()
    assert refusal(path + ".partial").startswith("the description in /meta fails its checksum.")


def forged(intact: str, tmp_path, **changes) -> str:
    """A copy whose /meta says something else, under a right checksum."""
    path = str(tmp_path / "forged.gs")
    data = bytearray(Path(intact).read_bytes())
    with open_store(intact) as store:
        meta, offset = store.meta, store.extents["meta"].offset
        sums = json.loads(bytes(data[offset : offset + 65536]))["checksums"]
    data[offset : offset + 65536] = encode_meta(replace(meta, **changes), sums)
    Path(path).write_bytes(data)
    return path


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"vertices": 51}, "dataset topology/out/heads is missing or has another type or size"),
        ({"edges": 1 << 70}, "must be a count below 2^63"),
        ({"page_bytes": 5000}, "power of two"),
        ({"id_bytes": 3}, "id_bytes is 3"),
        ({"vertices": 1 << 32}, "4294967296 vertices do not fit 4-byte IDs"),
        ({"order": "random"}, "order is 'random'"),
        ({"weight_dtype": "f8", "weighted": True}, "weight_dtype is 'f8'"),
        ({"topologies": ("out", "both")}, "topologies is ('out', 'both')"),
        ({"directed": False}, "contradict"),
        ({"id_kind": "integers"}, "dataset checksums/vertices.ids is missing"),
        ({"max_out_degree": 1 << 33}, "dataset vertices/out_degree is missing or has another type"),
        ({"provenance": []}, "wrong type"),
        ({"min_weight": "0"}, "min_weight or max_weight is no number"),
        ({"max_weight": [1.0]}, "min_weight or max_weight is no number"),
    ],
)
def test_a_forged_description(intact, tmp_path, changes, words):
    assert words in refusal(forged(intact, tmp_path, **changes))


def described(change) -> bytes:
    """The description of a small graph after `change(document)`, under a right checksum."""
    document = json.loads(encode_meta(Meta(5, 7, True, 4096, 4), {}))
    change(document)
    rest = {name: value for name, value in document.items() if name != "crc32"}
    data = (b'{"crc32":"00000000",' + json.dumps(rest, separators=(",", ":")).encode()[1:]).ljust(65536)
    return data[:10] + f"{crc32(data):08x}".encode() + data[18:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda document: document.update(format="another"), "can't be read (its format is 'another')"),
        (lambda document: document.update(version="1"), "can't be read (its format is"),
        (lambda document: document["graph"].update(colour="red"), "missing or unknown fields ['colour']"),
        (lambda document: document["graph"].pop("edges"), "missing or unknown fields ['edges']"),
        (lambda document: document["graph"].update(columns=1), "missing or unknown fields ['columns']"),
        (lambda document: document.update(version=2), "missing or unknown fields ['columns', 'padding_words']"),
        (
            lambda document: (document.update(version=2), document["graph"].update(columns=1, padding_words={})),
            "missing or unknown fields []",
        ),
    ],
)  # fmt: skip
def test_descriptions_of_other_fields(change, words):
    assert decode_meta(described(lambda document: None), "x.gs")[0].edges == 7
    with pytest.raises(StoreError) as caught:
        decode_meta(described(change), "x.gs")
    assert words in str(caught.value) and str(caught.value).startswith("x.gs: ")


def test_descriptions_that_are_no_objects(intact, tmp_path):
    with open_store(intact) as store:
        offset = store.extents["meta"].offset
    for text in ('"format":[]}', '"format":' + "[" * 30_000 + "}", "1e999}", '"format":1,"format":2,"checksums":5}'):
        data = bytearray(Path(intact).read_bytes())
        document = (b'{"crc32":"00000000",' + text.encode()).ljust(65536)
        document = document[:10] + f"{crc32(document):08x}".encode() + document[18:]
        data[offset : offset + 65536] = document
        path = tmp_path / "odd.gs"
        path.write_bytes(data)
        assert "version" in refusal(str(path)) or "can't be read" in refusal(str(path))


def test_checksums_that_are_no_numbers(intact):
    with open_store(intact) as store:
        text = encode_meta(store.meta, {"x": 1})
    for value in (b"Infinity", b"NaN", b"[]", b'"y"'):
        data = text.replace(b'{"x":1}', b'{"x":' + value + b"}").replace(text[10:18], b"00000000").rstrip().ljust(65536)
        with pytest.raises(StoreError, match="the description in /meta can't be read"):
            decode_meta(data[:10] + f"{crc32(data):08x}".encode() + data[18:], "x.gs")


def test_datasets_larger_than_the_file_are_refused_without_memory(tmp_path):
    """A sparse 64 TiB claim, cut short: refused from sizes alone."""
    path = str(tmp_path / "huge.gs")
    attributes = {"format": "gstream page store", "version": 1}
    create(path, {"meta": (np.dtype("u1"), (65536,)), "x": (np.dtype("u1"), (1 << 43,))}, attributes, 4096)
    assert locate(path)["x"].nbytes == 1 << 43
    os.truncate(path, 1 << 20)
    assert "is cut" in refusal(path) or "can't read it" in refusal(path) or "past the end" in refusal(path)


def test_a_directory_that_no_planner_makes(tmp_path):
    """Right checksums, wrong rows: each rule of the directory is held against it on open."""
    from pagestore.layout import DIRECTORY, PageLayout
    from pagestore.planning import plan_pages
    from pagestore.topology import check_directory

    layout = PageLayout(4096, 4)
    degrees = np.concatenate([np.full(300, 20), [3000, 1014]]).astype(np.uint32)
    rows = plan_pages(layout, degrees).directory
    meta = Meta(302, int(degrees.sum()), True, 4096, 4)
    check_directory(rows, layout, meta, "g")
    last = len(rows) - 1
    wrong = [
        (0, "kind", 1), (0, "kind", 2), (last, "kind", 0), (0, "layout", 1), (0, "group", 3), (0, "flags", 1),
        (0, "first_vertex", 1 << 63), (0, "last_vertex", 302), (0, "records", 0), (0, "edges", 1 << 63),
        (0, "edges", 0), (0, "edges", 1000), (0, "records", 340), (1, "first_vertex", 0), (0, "position", 1),
        (last, "position", 5), (last, "records", 2), (last, "last_vertex", 300), (last - 1, "edges", 1012),
        (last, "first_vertex", 299), (2, "edges_before", 7), (last, "edges", 2),
    ]  # fmt: skip
    for row, name, value in wrong:
        broken = rows.copy()
        broken[name][row] = value
        with pytest.raises(StoreError, match="^g: "):
            check_directory(broken, layout, meta, "g")
    with pytest.raises(StoreError, match="don't add up"):
        check_directory(rows[:-1], layout, meta, "g") if rows["position"][-2] else check_directory(
            np.delete(rows, 0), layout, meta, "g"
        )
    assert rows.dtype == DIRECTORY


def test_a_topology_that_was_left_out_names_the_option(tmp_path):
    path = str(tmp_path / "out.gs")
    write_store(path, random_edges(), topologies=("out",))
    with open_store(path) as store:
        assert store.has("out") and not store.has("in")
        with pytest.raises(UsageError, match=r"has no in-topology. Convert again with --topology both \(or .*in\)"):
            store.topology("in")
        with pytest.raises(ValueError):
            store.topology("sideways")


def test_an_undirected_store_has_one_topology_for_both(tmp_path):
    path = str(tmp_path / "u.gs")
    edges = random_edges(vertices=20, edges=0)
    write_store(path, edges, directed=False, topologies=("out",))
    with open_store(path) as store:
        assert store.topology("in") is store.topology("out") and store.has("in")
        np.testing.assert_array_equal(store.in_degree(), store.out_degree())


def test_heads_that_were_left_out(tmp_path):
    path = str(tmp_path / "h.gs")
    write_store(path, random_edges(), heads=False)
    with open_store(path) as store:
        assert store.topology("out").head_rows == 0
        with pytest.raises(UsageError, match="has no heads"):
            store.topology("out").heads()


def test_import_is_light():
    """No numba, h5py or pyarrow before they are needed (the command line starts in under 0.3 s)."""
    code = "import sys, pagestore; print([m for m in ('numba', 'h5py', 'pyarrow', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "open_store" in dir(pagestore)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pagestore.nothing  # noqa: B018


def short_of(size):
    """What reads an attribute, and finds no memory for so many bytes."""

    def fail(*given):
        raise np._core._exceptions._ArrayMemoryError((size,), np.dtype(np.uint8))

    return fail


def test_memory_that_runs_out_is_no_damage(intact, monkeypatch):
    """Not so sizes that lie: no array of a store is larger than its file."""
    monkeypatch.setattr("pagestore.hdf5._extent", short_of(100))
    with pytest.raises(MemoryError):
        open_store(intact)
    monkeypatch.setattr("pagestore.hdf5._extent", short_of(1 << 50))
    assert "Unable to allocate 1.00 PiB" in refusal(intact)


def test_a_signal_is_no_damage(intact):
    """h5py has code in C that goes on after a handler has raised: Python then says SystemError."""

    def interrupt(*given):
        raise KeyboardInterrupt

    usual, interrupted, ends = signal.signal(signal.SIGALRM, interrupt), 0, time.monotonic() + 30
    lost = sys.unraisablehook
    sys.unraisablehook = lambda what: None
    try:
        locate(intact)
        began = time.perf_counter()
        locate(intact)
        whole = time.perf_counter() - began
        for number in range(1500):
            try:
                signal.setitimer(signal.ITIMER_REAL, whole * (number + 1) / 1500)
                locate(intact)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            if time.monotonic() > ends:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
        sys.unraisablehook = lost
    assert interrupted > 10
