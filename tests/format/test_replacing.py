"""Files that are replaced whole: old, complete or absent, never two writers' at once, and on the disk by the end."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from small_stores import random_edges, write_store

import gstream
from gstream.telemetry.trace import ChromeTrace
from pagestore import open_store
from pagestore.edgelist import write_edge_list
from pagestore.errors import ResourceError, UsageError
from pagestore.export import export_edges
from pagestore.generate import rmat
from pagestore.replacing import ATTEMPTS, refuse_replacing, remove_leftovers, replacing


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two graphs, of several pages each."""
    folder = tmp_path_factory.mktemp("stores")
    for number in range(2):
        write_store(str(folder / f"{number}.gs"), random_edges(seed=number, edges=4000 + 1000 * number))
    return str(folder / "0.gs"), str(folder / "1.gs")


def export(store: str, path: Path) -> None:
    with open_store(store) as opened:
        export_edges(opened, str(path))


def write_result(store: str, path: Path) -> None:
    with gstream.open(store) as graph:
        graph.degrees().write(path)


def write_plot(store: str, path: Path) -> None:
    pytest.importorskip("matplotlib")
    from gstream.reporting.plots import plot_result

    with gstream.open(store) as graph:
        plot_result(graph.degrees(), path=path, force=True)


def write_trace(store: str, path: Path) -> None:
    trace = ChromeTrace()
    trace.span("driver", "supersteps", "push", 1.0, 2.0)
    trace.write(path)


WRITERS: list[tuple[str, Callable[[str, Path], object]]] = [
    ("edges.csv", export),
    ("edges.txt.gz", export),
    ("edges.parquet", export),
    ("list.npy", lambda store, path: write_edge_list(rmat(7, 4), path)),
    ("list.parquet", lambda store, path: write_edge_list(rmat(7, 4), path)),
    ("list.el", lambda store, path: write_edge_list(rmat(7, 4), path)),
    ("result.parquet", write_result),
    ("result.csv", write_result),
    ("plot.png", write_plot),
    ("plot.svgz", write_plot),
    ("run.json", write_trace),
]


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_a_file_is_synced_then_renamed_then_its_folder_is_synced(
    tmp_path: Path,
    stores: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    write: Callable[[str, Path], None],
) -> None:
    """Nothing is written after the sync: the file that is renamed has the size that was synced."""
    done, fsync, rename, path = [], os.fsync, os.replace, tmp_path / name

    def synced(file: int) -> None:
        what = os.readlink(f"/proc/self/fd/{file}")
        if what.startswith(str(tmp_path)):
            done.append(("sync", what, os.fstat(file).st_size if os.path.isfile(what) else None))
        fsync(file)

    def renamed(source: str, target: Path) -> None:
        if Path(target) == path:
            done.append(("rename", str(source), os.stat(source).st_size))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write(stores[0], path)
    size = path.stat().st_size
    partial = done[0][1]
    assert size and done == [("sync", partial, size), ("rename", partial, size), ("sync", str(tmp_path), None)]
    assert Path(partial).parent == tmp_path and os.listdir(tmp_path) == [name]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, stores: tuple[str, str], monkeypatch: pytest.MonkeyPatch, name: str,
    write: Callable[[str, Path], None], call: str,
) -> None:  # fmt: skip
    (tmp_path / name).write_text("old")
    if name.startswith("result"):
        (tmp_path / name).unlink()  # is not replaced without force
    usual = getattr(os, call)

    def full(*given: object) -> None:
        if call == "replace" and Path(str(given[1])).name != name:  # of a kernel that is kept
            return usual(*given)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(ResourceError, match=rf"{name}: no space left"):
        write(stores[0], tmp_path / name)
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ([] if name.startswith("result") else ["old"])


def test_two_exports_to_one_name(tmp_path: Path, stores: tuple[str, str]) -> None:
    """One that begins and ends while another is under way: each file is whole, each report its own."""
    path, reports = tmp_path / "edges.el", []
    for number, store in enumerate(stores):
        export(store, tmp_path / f"{number}.el")
    whole = [(tmp_path / f"{number}.el").read_bytes() for number in range(2)]
    with open_store(stores[0]) as one, open_store(stores[1]) as other:

        def progress(done: int, pages: int) -> None:
            if not reports:
                reports.append(export_edges(other, str(path)).edges)
                assert path.read_bytes() == whole[1]

        reports.append(export_edges(one, str(path), progress=progress).edges)
    assert reports == [5000, 4000] and path.read_bytes() == whole[0]
    assert sorted(os.listdir(tmp_path)) == ["0.el", "1.el", "edges.el"]


def test_two_edge_lists_to_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, one, other, inner = tmp_path / "list.el", rmat(8, 4, seed=1), rmat(7, 2, seed=2), []
    whole = write_edge_list(one, tmp_path / "one.el", threads=1)
    make = one.chunk

    def chunk(number: int) -> object:
        if not inner:
            inner.append(write_edge_list(other, path, threads=1))
            assert path.stat().st_size == inner[0] != whole
        return make(number)

    monkeypatch.setattr(one, "chunk", chunk)
    assert write_edge_list(one, path, threads=1) == whole
    assert path.read_bytes() == (tmp_path / "one.el").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["list.el", "one.el"]


def killed_as_it_writes(path: Path) -> None:
    process = os.fork()
    if process == 0:
        try:
            with replacing(path) as stream:
                stream.write(b"half")
                stream.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(process, 0)


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    """Not so what a living one writes, another name's, or what only looks like it."""
    path, others = tmp_path / "a.csv", [".a.csv.b.partial", ".a.csv.0123456789abcdef.partial.txt", "a.csv.partial"]
    for name in others:
        (tmp_path / name).write_text("mine")
    killed_as_it_writes(tmp_path / "b.csv")
    killed_as_it_writes(path)
    killed_as_it_writes(path)
    assert len(os.listdir(tmp_path)) == len(others) + 2, "the second one has removed what the first one left"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    remove_leftovers(tmp_path / "b.csv")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.csv"])


def test_a_file_that_is_taken_for_a_leftover_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flock, lost = tmp_path / "a.csv", fcntl.flock, []

    def cleaned(most: int) -> Callable[[int, int], None]:
        def call(file: int, how: int) -> None:
            if len(lost) < most:
                lost.append(file)
                monkeypatch.setattr(fcntl, "flock", flock)
                remove_leftovers(path)
                monkeypatch.setattr(fcntl, "flock", call)
            flock(file, how)

        return call

    monkeypatch.setattr(fcntl, "flock", cleaned(3))
    with replacing(path) as stream:
        stream.write(b"whole")
    assert path.read_bytes() == b"whole" and len(lost) == 3
    lost.clear()
    monkeypatch.setattr(fcntl, "flock", cleaned(ATTEMPTS))
    with pytest.raises(UsageError, match="other processes keep removing what is written to it"), replacing(path):
        pass
    assert path.read_bytes() == b"whole" and os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Whether a partial file's writer lives can't be told there: it stays."""

    def fail(*given: object) -> None:
        raise OSError(code, os.strerror(code))

    killed_as_it_writes(tmp_path / "a.csv")
    left = os.listdir(tmp_path)
    monkeypatch.setattr(fcntl, "flock", fail)
    with replacing(tmp_path / "a.csv") as stream:
        stream.write(b"whole")
    assert (tmp_path / "a.csv").read_bytes() == b"whole" and sorted(os.listdir(tmp_path)) == sorted([*left, "a.csv"])


def test_a_folder_that_can_not_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may be allowed to, or able to, which is no failure; that the disk fails is one, and the file is there."""
    usual = os.fsync
    for number, code in enumerate((errno.EACCES, errno.EINVAL, errno.EIO)):

        def fail(file: int, code: int = code) -> None:
            if os.path.isdir(f"/proc/self/fd/{file}"):
                raise OSError(code, os.strerror(code))
            usual(file)

        monkeypatch.setattr(os, "fsync", fail)
        path = tmp_path / f"{number}.csv"
        if code == errno.EIO:
            with pytest.raises(ResourceError, match="Check the disk"), replacing(path) as stream:
                stream.write(b"whole")
        else:
            with replacing(path) as stream:
                stream.write(b"whole")
        assert path.read_bytes() == b"whole"
    assert len(os.listdir(tmp_path)) == 3


def test_what_is_no_file_is_not_replaced(tmp_path: Path, stores: tuple[str, str]) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/null", tmp_path / "null.csv")
    (tmp_path / "folder.csv").mkdir()
    before = sorted(os.listdir(tmp_path))
    for name, what in (
        ("pipe.csv", "a device or a pipe"),
        ("null.csv", "a device or a pipe"),
        ("folder.csv", "a folder"),
    ):
        with pytest.raises(UsageError, match=f"{name}: is {what}.* Name a file"):
            export(stores[0], tmp_path / name)
        with pytest.raises(UsageError, match=f"{name}: is {what}"):
            write_edge_list(rmat(4), tmp_path / name)
        with pytest.raises(UsageError, match=f"{name}: is {what}"):
            refuse_replacing(tmp_path / name, force=True)
    assert sorted(os.listdir(tmp_path)) == before
