"""An edge list in a store's place: converted once, found again, converted anew once it changes, and never by halves."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from gstream.cli.edge_files import make_store
from gstream.interop import sorting, store_cache
from pagestore.errors import ResourceError, UsageError
from tests.cli import command
from tests.cli.command import EDGES, Command

CONVERTED = re.compile(r"^edges\.txt: is converted once, into the cache \((\S+\.gs)\)\.$", re.MULTILINE)
FOUND = "edges.txt: its store is in the cache.\n"


@pytest.fixture
def cache(tmp_path: Path, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and edges.txt beside it."""
    base = tmp_path / "kept"
    base.mkdir(mode=0o700)
    monkeypatch.setattr(store_cache, "cache_base", lambda: base)
    (tmp_path / "edges.txt").write_text(EDGES)
    return base / "stores"


def files(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and path.name != "lock")


def test_a_file_is_converted_once(cache: Path, gstream: Command, store: Path) -> None:
    first = gstream("run", "bfs", "edges.txt", "--source", "1", "--json")
    again = gstream("run", "bfs", "edges.txt", "--source", "1", "--json")
    assert (first.returncode, again.returncode) == (0, 0)
    made = CONVERTED.search(first.stderr)
    assert made and Path(made[1]).parent.parent == cache
    assert "columns 1 and 2, between blanks, are source and target" in first.stderr
    assert again.stderr.startswith(FOUND) and not CONVERTED.search(again.stderr)
    by_store = json.loads(gstream("run", "bfs", "graph.gs", "--source", "1", "--json").stdout)
    assert json.loads(first.stdout)["top"] == json.loads(again.stdout)["top"] == by_store["top"]
    assert json.loads(first.stdout)["store"] == "edges.txt"
    wrong = gstream("run", "bfs", "edges.txt", "--source", "99").stderr
    assert "source 99 is not a vertex of edges.txt; its 7 IDs run from 1 to 7" in wrong
    os.symlink("edges.txt", "link.txt")
    assert "its store is in the cache" in gstream("run", "wcc", "link.txt").stderr


def test_a_gpu_is_left_to_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker is forked: CUDA must not have started before."""
    (tmp_path / "edges.txt").write_text(EDGES)
    monkeypatch.setattr(sorting, "FEWEST", 0)
    monkeypatch.setattr(sorting, "gpus_there", lambda: 1)
    monkeypatch.setattr(sorting, "_on_gpu", lambda index, source: pytest.fail("CUDA was started"))
    make_store(tmp_path / "edges.txt", tmp_path / "made.gs", None)
    assert (tmp_path / "made.gs").exists()


def test_a_changed_file_is_converted_anew(cache: Path, gstream: Command) -> None:
    gstream("run", "wcc", "edges.txt")
    (before,) = (name for name in files(cache) if name != "input")
    Path("edges.txt").write_text(EDGES + "8 9\n")
    done = gstream("run", "wcc", "edges.txt", "--json")
    assert CONVERTED.search(done.stderr) and json.loads(done.stdout)["components"] == 3
    assert len(files(cache)) == 2 and before not in files(cache)
    found = os.stat("edges.txt")
    os.utime("edges.txt", ns=(found.st_atime_ns, found.st_mtime_ns + 1))  # of the same size
    assert CONVERTED.search(gstream("run", "wcc", "edges.txt").stderr)


@pytest.mark.parametrize(
    "text, name, said",
    [
        ("a,b,c,d\n1,2,3,4\n", "four.csv", "four.csv: has 4 columns"),
        ("1 2\n3 x4\n", "slip.txt", "slip.txt:2:3: "),
    ],
)
def test_what_needs_options_is_refused_with_the_line_to_type(
    cache: Path, gstream: Command, text: str, name: str, said: str
) -> None:
    Path(name).write_text(text)
    done = gstream("run", "bfs", name, "--source", "1")
    assert done.returncode == 4 and done.stdout == ""
    stem = name.partition(".")[0]
    assert said in done.stderr and done.stderr.endswith(
        f"run takes no options of convert: gstream convert {name} {stem}.gs makes a store, with its options; run "
        f"{stem}.gs.\n"
    )
    assert files(cache) == []
    assert ("is converted once" in done.stderr) == (name == "slip.txt")  # what is wrong there is found on the way


def test_what_may_be_read_in_two_ways_is_refused(
    cache: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagestore.inputs.base import EdgeSource

    monkeypatch.setattr(EdgeSource, "doubts", ("edges.txt: line 1 may be a header",), raising=False)
    monkeypatch.setattr("pagestore.inputs.detect._of_all", lambda parts: ("edges.txt: line 1 may be a header",))
    done = gstream("run", "wcc", "edges.txt")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "edges.txt: line 1 may be a header. run takes no options of convert: gstream convert edges.txt edges.gs makes "
        "a store, with its options; run edges.gs.\n"
    )
    assert files(cache) == []


def test_no_edge_lists_are_what_they_were(cache: Path, gstream: Command, store: Path) -> None:
    Path("wrong.gs").write_text(EDGES)
    for name, said in (("none.txt", "no such file"), ("wrong.gs", "is not a store"), (".", "is a folder")):
        done = gstream("run", "wcc", name)
        assert done.returncode == 4 and said in done.stderr and "cache" not in done.stderr
    assert gstream("run", "wcc", "graph.gs").stderr.count("cache)") == 0
    assert not cache.exists()


def kept(file: Path, make=None, said: list[str] | None = None):
    def made(store: Path) -> None:
        store.write_bytes(b"x" * 100)

    return store_cache.store_of(file, make or made, (said if said is not None else []).append)


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ResourceError("full")]
)
def test_a_conversion_that_fails_leaves_nothing(cache: Path, tmp_path: Path, failure: BaseException) -> None:
    def fails(store: Path) -> None:
        store.with_name(store.name + ".partial").write_bytes(b"half")
        raise failure

    wanted = ResourceError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(wanted), kept(tmp_path / "edges.txt", fails):
        pass
    assert files(cache) == []
    with kept(tmp_path / "edges.txt") as store:
        assert store.read_bytes() == b"x" * 100


def test_what_a_killed_conversion_left_goes(cache: Path, tmp_path: Path) -> None:
    with kept(tmp_path / "edges.txt") as store:
        pass
    store.rename(store.with_name(store.name + ".partial"))
    store.with_name("work.partial.d").mkdir()
    with kept(tmp_path / "edges.txt") as again:
        assert again == store
    assert files(cache) == sorted(["input", store.name]) and not store.with_name("work.partial.d").exists()


@pytest.mark.long
def test_a_killed_process_is_followed_by_another(cache: Path, tmp_path: Path) -> None:
    """In their own processes: SIGKILL while one converts."""
    with open(tmp_path / "edges.txt", "a") as file:
        file.writelines(f"{i} {i + 1}\n" for i in range(300_000))
    environment = dict(os.environ)
    os.environ["XDG_CACHE_HOME"] = str(tmp_path / "xdg")
    try:
        process = command.start("run", "wcc", "edges.txt", cwd=tmp_path)
        assert process.stderr is not None
        assert any("is converted once" in line for line in process.stderr)  # after what columns are read as
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = command.run("run", "wcc", "edges.txt", cwd=tmp_path, timeout=600)
    finally:
        os.environ.clear()
        os.environ.update(environment)
    assert done.returncode == 0 and "is converted once" in done.stderr
    assert [path.suffix for path in (tmp_path / "xdg").rglob("stores/*/*") if path.name not in ("lock", "input")] == [
        ".gs"
    ]


def test_processes_at_once_convert_once(cache: Path, tmp_path: Path) -> None:
    """Others wait, and say so; locks are of open files, so threads stand for processes."""
    began, go, made, said = threading.Event(), threading.Event(), [], []

    def slow(store: Path) -> None:
        made.append(store)
        began.set()
        assert go.wait(60)
        store.write_bytes(b"whole")

    def user() -> None:
        with kept(tmp_path / "edges.txt", slow, said) as store:
            assert store.read_bytes() == b"whole"

    users = [threading.Thread(target=user) for _ in range(3)]
    users[0].start()
    assert began.wait(60)
    for one in users[1:]:
        one.start()
    while said.count(f"{tmp_path / 'edges.txt'}: another process converts it; waiting for it.") < 2:
        assert any(one.is_alive() for one in users)
    go.set()
    for one in users:
        one.join(60)
    assert len(made) == 1


def test_the_cache_has_a_limit(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used longest ago goes first, and never what is being read."""
    names = [tmp_path / f"{name}.txt" for name in "abcd"]
    for at, file in enumerate(names):
        file.write_text("1 2\n")
        if at < 3:
            with kept(file):
                pass
    entries = {Path(one.file).name: one for one in store_cache.cached_stores()}
    for age, name in enumerate(("b.txt", "a.txt", "c.txt")):  # b was used last
        os.utime(entries[name].folder / "input", (1e9 - age, 1e9 - age))
    each = entries["a.txt"].stored_bytes
    monkeypatch.setenv(store_cache.LIMIT, str(3 * each))
    said: list[str] = []
    with kept(names[2]), kept(names[3], said=said):  # c is read
        pass
    assert {Path(one.file).name for one in store_cache.cached_stores()} == {"b.txt", "c.txt", "d.txt"}
    assert any(
        re.search(r"a\.txt: its store was removed from the cache, which may hold \d+ B \(GSTREAM_CACHE_SIZE\)", line)
        for line in said
    )
    monkeypatch.setenv(store_cache.LIMIT, "50")
    names[0].write_text("1 2\n")
    with pytest.raises(
        ResourceError,
        match=r"takes 100 B, and the cache may hold 50 B \(GSTREAM_CACHE_SIZE\)\. Make a store of it elsewhere",
    ):
        with kept(names[0]):
            pass
    names[0].write_text("1 2\n" * 100)
    with pytest.raises(ResourceError, match="takes 400 B"), kept(names[0]):
        pass
    monkeypatch.setenv(store_cache.LIMIT, "much")
    with pytest.raises(UsageError, match=store_cache.LIMIT), kept(names[0]):
        pass


def test_a_cache_that_others_can_write_to_is_refused(cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(UsageError, match="cannot be used: others can write to .*gstream convert .* edges.gs"):
        with kept(tmp_path / "edges.txt"):
            pass


def test_the_cache_is_listed_and_cleared(cache: Path, gstream: Command) -> None:
    assert gstream("cache").stdout == f"0 stores, 0 B of 20 GiB, in {cache}\n"
    gstream("run", "wcc", "edges.txt")
    (line,) = json.loads(gstream("cache", "--json").stdout)["stores"]
    assert line["file"] == os.path.realpath("edges.txt") and not line["outdated"] and line["bytes"] > 4 << 20
    Path("edges.txt").write_text("1 2\n")
    assert re.search(r"edges\.txt +\S+ MiB +\S+ \S+ ago +changed\n1 store, ", gstream("cache").stdout)
    with open(Path(line["store"]).with_name("lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert gstream("cache", "--clear").stdout == "removed 0 stores, 0 B; 1 store in use\n"
    assert re.fullmatch(r"removed 1 store, \S+ MiB\n", gstream("cache", "--clear").stdout)
    assert list(cache.iterdir()) == []
