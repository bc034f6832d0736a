"""Kills, signals and full disks at any moment: the target is absent, old or complete, and --resume gives its bytes."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import choice
import numpy as np
import pytest

from pagestore import io as store_io
from pagestore.convert import ConvertOptions, Progress, convert, pipeline, storage
from pagestore.convert.workfolder import WorkFolder, work_folder_of
from pagestore.errors import InputError, ResourceError, UsageError
from pagestore.inputs.base import EdgeChunk, EdgeSource
from pagestore.memory import ArraySource
from tests.convert.graphs import Graph, check_store, skewed, stored_rows

SMALL = 1 << 14  # bytes of memory that force every temporary thing to disk


class OnceSource(EdgeSource):
    """Edges that can be read only once, like a pipe's; `reads` counts how often that was asked for."""

    directed = None
    replayable = False

    def __init__(self, graph: Graph):
        super().__init__()
        self.name, self.graph, self.weighted, self.reads = "once", graph, graph.weight is not None, 0
        self.fingerprint = ["once", len(graph.source)]

    def chunks(self):
        self.reads += 1
        assert self.reads == 1
        for first in range(0, len(self.graph.source), 5000):
            part = slice(first, first + 5000)
            weight = None if self.graph.weight is None else self.graph.weight[part].astype(np.float64)
            yield EdgeChunk(
                self.graph.source[part].astype(np.uint64), self.graph.target[part].astype(np.uint64), weight
            )


CASES = {
    "natural": {},
    "degree": {"order": "degree"},
    "undirected": {"directed": False, "dedupe": True},
    "out": {"topology": "out", "dedupe": True},
}


def options_of(case: str, **more) -> ConvertOptions:
    return ConvertOptions(**{"page_bytes": 4096, "memory_bytes": SMALL, "threads": 2, **CASES[case], **more})


def killed_child(action: Callable[[], None], calls: int) -> bool:
    """Run `action` in a forked child that SIGKILLs itself at its `calls`-th write; True if it came to that."""
    child = os.fork()
    if child == 0:
        left = [calls]
        for module, name in ((storage, "write_all"), (store_io, "write_from"), (WorkFolder, "save")):
            patch_to_die(module, name, left)
        try:
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def patch_to_die(holder, name: str, left: list[int]) -> None:
    """Make every user of a function die once it has been called often enough."""
    original = getattr(holder, name)

    def dying(*arguments, **named):
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    import sys

    setattr(holder, name, dying)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("pagestore") and getattr(module, name, None) is original:
            setattr(module, name, dying)


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", choice.seeds(2, sorted(CASES)))
@pytest.mark.parametrize("kind", ["arrays", "once"])
def test_killed_at_any_write_then_resumed(tmp_path: Path, case: str, kind: str) -> None:
    graph = skewed(10_000, 900)

    def source() -> EdgeSource:
        return OnceSource(graph) if kind == "once" else ArraySource(graph.source, graph.target, graph.weight)

    whole = tmp_path / "whole.gs"
    convert(source(), whole, options_of(case))
    path = tmp_path / "killed.gs"
    kills = 0
    for calls in (1, 3, 10, 40, 100, 200, 330, 500):
        died = killed_child(lambda: convert(source(), path, options_of(case)), calls)
        kills += died
        assert died or path.exists()
        if not died:
            path.unlink()
            break
        assert not path.exists()
        # A second kill on the way of the resumption, then the last one runs through.
        if killed_child(lambda: convert(source(), path, options_of(case, resume=True)), max(3, calls // 3)):
            assert convert(source(), path, options_of(case, resume=True)).resumed or calls <= 10
        assert path.read_bytes() == whole.read_bytes()
        path.unlink()
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["whole.gs"]
    assert kills >= 5
    check_store(whole)


@pytest.mark.long
def test_killed_while_temporary_files_go(tmp_path: Path) -> None:
    """The store is complete then; the manifest goes first, so that --resume does not miss what it describes."""
    graph, path, whole = skewed(3_000, 300), tmp_path / "killed.gs", tmp_path / "whole.gs"
    convert(OnceSource(graph), whole, options_of("natural"))
    for calls in range(1, 200):
        child = os.fork()
        if child == 0:
            patch_to_die(os, "unlink", [calls])
            try:
                convert(OnceSource(graph), path, options_of("natural"))
            finally:
                os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        convert(OnceSource(graph), path, options_of("natural", resume=True))
        assert path.read_bytes() == whole.read_bytes()
        path.unlink()
        assert [entry.name for entry in tmp_path.iterdir()] == ["whole.gs"]
        if not killed:
            break
    assert calls > 5 and not killed


def test_an_old_store_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    graph = skewed(3_000, 200)
    path = tmp_path / "graph.gs"
    convert(ArraySource([1, 2], [2, 1]), path, options_of("natural"))
    old = path.read_bytes()
    assert killed_child(lambda: convert(OnceSource(graph), path, options_of("natural")), 40)
    assert path.read_bytes() == old
    report = convert(OnceSource(graph), path, options_of("natural"))
    assert any("leftovers" in line for line in report.notes) and not report.resumed
    assert stored_rows(path) == graph.rows()


def test_leftovers_of_a_kill_go_even_when_the_next_run_fails(tmp_path: Path) -> None:
    graph = skewed(10_000, 900)
    path = tmp_path / "graph.gs"
    for calls in (30, 250):
        while not killed_child(lambda calls=calls: convert(OnceSource(graph), path, options_of("out")), calls):
            calls -= 10
        assert list(tmp_path.iterdir())
        with pytest.raises(InputError):
            convert(ArraySource([1], [2], [1e300]), path, options_of("out"))
        assert list(tmp_path.iterdir()) == []


def test_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments, **named):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(UsageError, match="can't be written"):
        convert(ArraySource([1], [2]), tmp_path / "graph.gs", options_of("out"))


def test_resume_with_other_options_starts_afresh(tmp_path: Path) -> None:
    graph = skewed(20_000, 900)
    path = tmp_path / "graph.gs"
    assert killed_child(lambda: convert(OnceSource(graph), path, options_of("natural")), 150)
    report = convert(OnceSource(graph), path, options_of("natural", resume=True, dedupe=True))
    assert not report.resumed
    assert stored_rows(path) == graph.rows(dedupe=True)


def test_resume_with_another_budget(tmp_path: Path) -> None:
    """Finished buckets are used as they are, whatever the memory and threads of the second run."""
    graph = skewed(20_000, 900)
    whole, path = tmp_path / "whole.gs", tmp_path / "graph.gs"
    convert(OnceSource(graph), whole, options_of("degree"))
    for calls in (30, 100, 200):
        assert killed_child(lambda: convert(OnceSource(graph), path, options_of("degree")), calls)
        convert(OnceSource(graph), path, options_of("degree", resume=True, memory_bytes=1 << 30, threads=3))
        assert path.read_bytes() == whole.read_bytes()
        path.unlink()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interruption_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    """The signal handler's exception arrives in a progress hook of any phase."""
    graph = skewed(20_000, 900)
    for phase in ("read", "partition out", "sort out", "partition in", "pack"):

        def hook(progress: Progress, phase: str = phase) -> None:
            if progress.phase == phase and progress.done:
                raise error

        with pytest.raises(error):
            convert(OnceSource(graph), tmp_path / "graph.gs", options_of("natural"), hook)
        assert list(tmp_path.iterdir()) == []


def test_interruption_with_resume_keeps_the_work(tmp_path: Path) -> None:
    graph = skewed(20_000, 900)
    path = tmp_path / "graph.gs"

    def hook(progress: Progress) -> None:
        if progress.phase == "pack" and progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(OnceSource(graph), path, options_of("natural", resume=True), hook)
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.gs.partial.d"]
    source = OnceSource(graph)
    assert convert(source, path, options_of("natural", resume=True)).resumed
    assert source.reads == 0 and stored_rows(path) == graph.rows()


class SparseSource(OnceSource):
    """Which gives chunks without edges, too."""

    def chunks(self):
        for chunk in super().chunks():
            yield EdgeChunk(chunk.source[:0], chunk.target[:0], chunk.weight[:0])
            yield chunk


@pytest.mark.parametrize("edges", [9_000, 30_000])
def test_a_pipes_edges_that_memory_holds_in_part(tmp_path: Path, edges: int) -> None:
    """A copy of all edges stays in memory, or of the first of them: then it goes to a file, whole."""
    graph, path, whole = skewed(edges, 900), tmp_path / "graph.gs", tmp_path / "whole.gs"
    memory = 1 << 20  # of which the copy may take a quarter, 16,384 weighted edges

    def hook(progress: Progress) -> None:
        if progress.phase == "pack" and progress.done:
            raise KeyboardInterrupt

    convert(SparseSource(graph), whole, options_of("natural", memory_bytes=memory))
    assert stored_rows(whole) == graph.rows()
    with pytest.raises(KeyboardInterrupt):
        convert(SparseSource(graph), path, options_of("natural", memory_bytes=memory, resume=True), hook)
    convert(SparseSource(graph), path, options_of("natural", memory_bytes=memory, resume=True))
    assert path.read_bytes() == whole.read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["graph.gs", "whole.gs"]


@pytest.mark.parametrize("workdir", [False, True])
def test_disk_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workdir: bool) -> None:
    """No space at the n-th write: one line with the bytes, exit 5, nothing left behind."""
    graph = skewed(20_000, 900)
    folder = tmp_path / "work" if workdir else None
    if folder is not None:
        folder.mkdir()
    real = {"pwrite": os.pwrite, "pwritev": os.pwritev}
    for writes in (1, 5, 30, 150, 300):
        left = [writes]

        def failing(name: str, left: list[int] = left):
            def write(*arguments):
                left[0] -= 1
                if left[0] <= 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return real[name](*arguments)

            return write

        for name in real:
            monkeypatch.setattr(os, name, failing(name))
        with pytest.raises(ResourceError, match="no space left") as caught:
            convert(OnceSource(graph), tmp_path / "graph.gs", options_of("natural", workdir=folder))
        assert caught.value.exit_code == 5
        assert [entry.name for entry in tmp_path.rglob("*") if entry.name != "work"] == []


@pytest.mark.parametrize("full", ["store", "work"])
def test_space_on_two_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str) -> None:
    """Each is asked for what it gets: the one of --workdir for temporary files alone."""
    work, graph = tmp_path / "work", skewed(20_000, 900)
    work.mkdir()
    folder = {"store": tmp_path, "work": work}[full]
    monkeypatch.setattr("pagestore.convert.estimate.same_disk", lambda first, second: False)
    monkeypatch.setattr(
        "pagestore.convert.estimate.free_bytes",
        lambda place: 1000 if (place == tmp_path) == (full == "store") else 1 << 40,
    )
    with pytest.raises(ResourceError, match=rf"^{folder}\S*: the conversion needs [\d,]+ bytes there; 1,000 are free"):
        convert(OnceSource(graph), tmp_path / "graph.gs", options_of("natural", workdir=work))
    assert [entry.name for entry in tmp_path.rglob("*")] == ["work"]


def test_disk_space_is_checked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagestore.convert.estimate.free_bytes", lambda folder: 1000)
    with pytest.raises(ResourceError, match=r"the conversion needs [\d,]+ bytes there; 1,000 are free"):
        convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", options_of("natural"))
    assert list(tmp_path.iterdir()) == []


def test_two_conversions_to_one_name(tmp_path: Path) -> None:
    """The second one says so and touches nothing."""
    path = tmp_path / "graph.gs"
    refused = []

    def hook(progress: Progress) -> None:
        if progress.phase == "pack" and not refused:
            with pytest.raises(UsageError, match="another conversion is writing it") as caught:
                convert(ArraySource([1, 2], [2, 3]), path, options_of("natural"))
            refused.append(caught.value)

    convert(ArraySource([5, 6], [6, 5]), path, options_of("natural"), hook)
    assert refused and stored_rows(path) == [(5, 6, 1.0), (6, 5, 1.0)]
    assert not work_folder_of(path).exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_disk_full_while_the_scan_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """numpy.save's own error has no errno: what fails below it must still be known as a full disk."""
    real, graph = open, skewed(20_000, 900)

    def failing(path, *arguments, **named):  # type: ignore[no-untyped-def]
        if not arguments or "w" not in arguments[0] or Path(path).suffix != ".npy":
            return real(path, *arguments, **named)
        raise OSError(code, os.strerror(code))

    def failing_archive(*arguments, **named):  # type: ignore[no-untyped-def]
        raise OSError(code, os.strerror(code))

    for target, failure, name in (
        ("builtins.open", failing, "counts.npy"),
        ("numpy.savez", failing_archive, "first.buckets.npz"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, failure)
            with pytest.raises(ResourceError, match=f"{name}: no space left"):
                convert(OnceSource(graph), tmp_path / "graph.gs", options_of("natural"))
        assert list(tmp_path.iterdir()) == []


def test_arrays_are_saved_as_numpy_does(tmp_path: Path) -> None:
    for array in (np.arange(12, dtype=np.uint64).reshape(2, 6), np.zeros(0, np.int64), np.arange(9)[::2]):
        storage.save_array(tmp_path / "ours.npy", array)
        np.save(tmp_path / "numpy.npy", array)
        assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


@pytest.mark.long
def test_a_signal_while_temporary_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each call that removes them, and at each end of one: the rest goes, and nothing is missed that is gone."""
    plain, places, left, failed = pipeline.Conversion._clean_up, 0, 0, 0
    step = choice.few(5, 1)
    graph = skewed(2_000, 200)

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        left -= event in ("call", "c_return")
        if left == 0:
            raise KeyboardInterrupt  # as a handler does, wherever Python looks for signals

    def interrupted(self: pipeline.Conversion, keep: bool) -> None:
        gc.disable()  # what is called as it collects comes at any call, and may be interrupted for nothing
        sys.setprofile(count)
        try:
            plain(self, keep)
        finally:
            sys.setprofile(None)
            gc.enable()

    monkeypatch.setattr(pipeline.Conversion, "_clean_up", interrupted)
    while left <= 0:
        places += step
        left = places
        try:
            convert(OnceSource(graph), tmp_path / "graph.gs", options_of("degree", replace=True))
        except KeyboardInterrupt:
            failed += 1
        assert os.listdir(tmp_path) == ["graph.gs"], places
    assert places > 20 and failed == places // step - 1
