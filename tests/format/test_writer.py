"""Writing: nothing appears before it is complete, a killed run goes on, and every path gives the same bytes."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_stores import random_edges, write_store

from pagestore import hdf5, open_store
from pagestore.arrays import BLOCK_BYTES
from pagestore.errors import ResourceError, UsageError
from pagestore.meta import META_BYTES, Meta, decode_meta, encode_meta
from pagestore.verify import verify
from pagestore.writer import StoreWriter

EDGES = random_edges(seed=3, hub=3000, weight="f4")


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "g.gs")


@pytest.fixture(scope="module")
def complete(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("writer") / "complete.gs")
    write_store(path, EDGES)
    return path


def parts_of(complete: str) -> dict:
    """Pages, weights and arrays of a finished store, to be written again."""
    parts: dict = {"pages": {}, "arrays": {}}
    with open_store(complete) as store:
        for name in store.meta.topologies:
            topology = store.topology(name)
            with topology.reader() as reader:
                parts["pages"][name] = (
                    reader.read(0, topology.pages).copy(), reader.read_weights(0, topology.pages).copy(),
                )  # fmt: skip
            parts["arrays"][f"topology/{name}/heads"] = topology.heads()
        parts["arrays"]["vertices/out_degree"] = store.out_degree()
        parts["arrays"]["vertices/in_degree"] = store.in_degree()
    return parts


def test_nothing_appears_before_the_end(path):
    writer = write_store(path, EDGES, finish=False)
    assert os.listdir(os.path.dirname(path)) == ["g.gs.partial"]
    writer.finish()
    assert os.listdir(os.path.dirname(path)) == ["g.gs"]


def test_an_old_store_stays_until_the_new_one_is_complete(path, complete):
    Path(path).write_bytes(b"old")
    writer = write_store(path, EDGES, finish=False)
    assert Path(path).read_bytes() == b"old"
    writer.finish()
    assert Path(path).read_bytes() == Path(complete).read_bytes()


def test_abort_leaves_nothing(path):
    write_store(path, EDGES, finish=False).abort()
    assert os.listdir(os.path.dirname(path)) == []


def test_what_is_closed_twice_or_given_up_late(path, complete):
    """After the end nothing is left to close, and the store stays."""
    with write_store(path, EDGES, finish=False) as writer:
        writer.finish()
        writer.abort()
    assert Path(path).read_bytes() == Path(complete).read_bytes()
    assert os.listdir(os.path.dirname(path)) == ["g.gs"]


def test_rows_outside_of_an_array(path):
    writer = write_store(path, EDGES, finish=False)
    for first, count in ((-1, 1), (299, 2), (300, 1), (0, 301)):
        with pytest.raises(ValueError, match=f"rows {first}.. of vertices/out_degree: outside its 300 rows"):
            writer.write_array("vertices/out_degree", first, np.zeros(count, np.uint32))
    writer.abort()


def test_descriptions_that_contradict_what_was_laid_out(path):
    """Column pages that no plan has; other vertices once the file has its size."""
    writer = write_store(path, EDGES, finish=False)
    for changes in ({"vertices": 301}, {"page_bytes": 8192}, {"columns": 8}):
        with pytest.raises(ValueError, match="a fixed field of the description changed"):
            writer.finish(replace(writer.meta, **changes))
    writer.abort()
    with pytest.raises(ValueError, match="the description and the plans disagree about column pages"):
        StoreWriter(path, replace(writer.meta, columns=8, padding_words={"out": 0, "in": 0}), writer.plans)
    assert os.listdir(os.path.dirname(path)) == []


def test_errors_that_are_not_the_disks(path, monkeypatch):
    """A folder without rights is the user's to change; a mistake of ours is told as it is, and leaves no file."""

    def fail(error):
        def create(name, *given):
            Path(name).write_bytes(b"half")
            raise error

        return create

    for error, raised, words in (
        (PermissionError(errno.EACCES, "Permission denied"), UsageError, r"can't be written \(Permission denied\)"),
        (RuntimeError("write failed: errno = 28, error message = 'No space'"), ResourceError, "no space left"),
        (
            RuntimeError("write failed: errno = 5, error message = 'I/O'"),
            ResourceError,
            r"failed \(Input/output error\)",
        ),
        (ValueError("no such type"), ValueError, "^no such type$"),
    ):
        monkeypatch.setattr("pagestore.hdf5.create", fail(error))
        with pytest.raises(raised, match=words):
            write_store(path, EDGES)
        assert os.listdir(os.path.dirname(path)) == []


def test_an_unwritten_page_is_noticed(path):
    writer = write_store(path, EDGES, finish=False)
    writer._written["in"][2] = False
    with pytest.raises(ValueError, match="topology in: page 2 was never written"):
        writer.finish()
    writer.abort()


def test_any_order_and_threads_give_the_same_bytes(path, complete):
    """Pages one by one and backwards from 4 threads, arrays in odd slices, some twice."""
    parts, first = parts_of(complete), write_store(path, EDGES, finish=False)
    first.close()
    writer = StoreWriter(path, first.meta, first.plans)

    def put(job):
        name, page = job
        pages, weights = parts["pages"][name]
        writer.write_pages(name, page, pages[page : page + 1], weights[page : page + 1])

    jobs = [(name, page) for name in ("in", "out") for page in reversed(range(len(parts["pages"][name][0])))]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, jobs + jobs[::3]))
    for name, rows in parts["arrays"].items():
        for begin in reversed(range(0, len(rows), 37)):
            writer.write_array(name, begin, rows[begin : begin + 37])
    writer.finish()
    assert Path(path).read_bytes() == Path(complete).read_bytes()


def test_block_crcs_do_not_depend_on_slices_or_threads(path):
    """An array of several MiB, read back by one thread or by several."""
    degrees = np.zeros(700_000, np.uint32)
    meta = Meta(len(degrees), 0, False, 4096, 4, heads=False, uuid="0" * 32)
    from pagestore.layout import PageLayout
    from pagestore.planning import plan_pages

    plan = plan_pages(PageLayout(4096, 4), degrees)
    whole, cut, by_many = path + "1", path + "2", path + "3"
    values = np.arange(len(degrees), dtype=np.uint32)  # so that no two blocks are alike
    for name, step, threads in ((whole, len(degrees), 1), (cut, 99_991, 1), (by_many, len(degrees), 16)):
        writer = StoreWriter(name, meta, {"out": plan})
        for begin in range(0, len(values), step):
            writer.write_array("vertices/out_degree", begin, values[begin : begin + step])
        writer.finish(threads=threads)
    assert Path(whole).read_bytes() == Path(cut).read_bytes() == Path(by_many).read_bytes()
    with open_store(whole) as store:
        assert store.out_degree().nbytes > 2 * BLOCK_BYTES


def test_two_processes_can_not_write_one_store(path):
    writer = write_store(path, EDGES, finish=False)
    with pytest.raises(UsageError, match=r"g\.gs\.partial: another process is writing it"):
        StoreWriter(path, writer.meta, writer.plans)
    writer.finish()
    assert open_store(path).meta.vertices == 300


def test_a_store_that_is_begun_as_another_one_is_made(path, monkeypatch):
    """The lock comes ahead of any change to the file."""
    create = hdf5.create

    def creating(*given):
        monkeypatch.setattr(hdf5, "create", create)
        with pytest.raises(UsageError, match="another process is writing it"):
            write_store(path, random_edges(seed=5))
        create(*given)

    monkeypatch.setattr(hdf5, "create", creating)
    write_store(path, EDGES)
    assert verify(path).ok and open_store(path).meta.edges == len(EDGES.source)


def test_a_store_that_is_begun_as_another_one_is_renamed(path, monkeypatch):
    """The file that was opened is the other's store by then, and stays as it is."""
    writer, flock = write_store(path, EDGES, finish=False), fcntl.flock

    def renamed(file, how):
        writer.finish()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", renamed)
    with pytest.raises(UsageError, match="another process is writing it"):
        write_store(path, random_edges(seed=5))
    assert verify(path).ok and open_store(path).meta.edges == len(EDGES.source)


def test_a_killed_writer_leaves_the_old_store(path, complete):
    """SIGKILL in the middle of finish, just before the rename."""
    Path(path).write_bytes(b"old")
    code = textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from small_stores import random_edges, write_store
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        write_store({path!r}, random_edges(seed=3, hub=3000, weight="f4"))
    """)
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert Path(path).read_bytes() == b"old"
    assert Path(path + ".partial").read_bytes() == Path(complete).read_bytes()


@pytest.mark.parametrize("code, words", [(errno.ENOSPC, "no space left"), (errno.EIO, "writing failed")])
def test_a_full_disk_is_a_resource_error(path, monkeypatch, code, words):
    writer = write_store(path, EDGES, finish=False)

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pwritev", fail)
    with pytest.raises(ResourceError, match=rf"g\.gs\.partial: {words}"):
        writer.write_array("vertices/out_degree", 0, np.zeros(3, np.uint32))
    monkeypatch.undo()
    writer.abort()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ResourceError, match="writing failed|No such file"):
        write_store(str(tmp_path / "no" / "g.gs"), EDGES)


def test_pages_of_another_plan_are_refused(path, complete):
    writer = write_store(path, EDGES, finish=False)
    pages, weights = parts_of(complete)["pages"]["out"]
    with pytest.raises(ValueError, match="are not those of the plan"):
        writer.write_pages("out", 1, pages[:1], weights[:1])
    with pytest.raises(ValueError, match="needs the weights"):
        writer.write_pages("out", 0, pages[:1])
    writer.abort()


def test_meta_survives_its_encoding_and_cuts_long_provenance():
    meta = Meta(
        5, 7, True, 4096, 4, uuid="ab", provenance={"inputs": [f"file {i}" for i in range(20_000)], "note": "é"}
    )
    data = encode_meta(meta, {"vertices/out_degree": 5})
    assert len(data) == META_BYTES
    back, checksums = decode_meta(data, "x.gs")
    assert checksums == {"vertices/out_degree": 5} and back.provenance["note"] == "é"
    assert back.provenance["inputs_in_all"] == 20_000 and back.provenance["inputs"][0] == "file 0"
    huge = Meta(5, 7, True, 4096, 4, provenance={"note": "x" * 100_000, "kept": 1})
    assert decode_meta(encode_meta(huge, {}), "x.gs")[0].provenance == {"kept": 1}
