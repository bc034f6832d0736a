"""Machine code on disk: each call's types get their own, whoever else writes there, and whenever a process dies."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

import gstream
import pagestore
from pagestore.jit import CacheFile, compiled

ROOT = Path(pagestore.__file__).parent.parent


@pytest.mark.parametrize("wanted", [True, False])
def test_the_collector_rests_while_numba_compiles(wanted):
    def told():
        """What Numba types while it compiles a function that calls it."""

    seen = []

    @overload(told)
    def typed():
        seen.append(gc.isenabled())
        return lambda: None

    (gc.enable if wanted else gc.disable)()
    try:
        numba.njit(lambda: told())()
        assert gc.isenabled() == wanted
        with pytest.raises(numba.TypingError):
            numba.njit(lambda: told() + told())()
        assert gc.isenabled() == wanted
    finally:
        gc.enable()
    assert seen and not any(seen)


def race(kind, folder):
    """What two writers find afterwards, of whom one began when nothing was there, and ended after the other."""
    first, second = (kind(str(folder), "f", lambda: "7") for _ in range(2))
    seen = first._load_index()
    second.save("b", "code of b")
    first._load_index = lambda: seen
    first.save("a", "code of a")
    late = kind(str(folder), "f", lambda: "7")
    return late.load("a"), late.load("b")


def test_writers_do_not_take_each_others_names(tmp_path):
    assert race(CacheFile, tmp_path) in [("code of a", None), ("code of a", "code of b")]


def test_a_writer_that_dies_leaves_nothing_wrong(tmp_path):
    old, new, after = (CacheFile(str(tmp_path), "f", lambda stamp=stamp: stamp) for stamp in ("1", "2", "2"))
    old.save("a", "old code")
    for step in ("_save_data", "_save_index"):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(new, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            new.save("a", "new code")
        assert after.load("a") is None
    new.save("a", "new code")
    assert after.load("a") == "new code"


def test_all_that_is_kept_on_disk_is_kept_so():
    """No function is compiled with Numba's own way of keeping."""
    found = 0
    for package in (pagestore, gstream):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__") or info.name == "gstream.devices.gpu.driver":
                continue
            for name, member in vars(importlib.import_module(info.name)).items():
                if isinstance(member, Dispatcher) and hasattr(member._cache, "_cache_file"):
                    assert type(member._cache._cache_file) is CacheFile, f"{info.name}.{name}"
                    found += 1
    assert found > 50


CALLS = """
import sys
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
from kept import add
print(add(np.arange(5, dtype=sys.argv[2])), sum(add.stats.cache_hits.values()))
"""


def kept_in(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps machine code there, whatever NUMBA_CACHE_DIR says here."""
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder)}


@pytest.mark.long
def test_processes_side_by_side(own_folder):
    """Each compiles for its own types, and a second one of the same types finds its machine code."""
    (own_folder / "kept.py").write_text(
        "from pagestore.jit import compiled\n\n\n@compiled\ndef add(x):\n    return (x[1:] / 2).sum()\n"
    )
    types = ["u4", "f4", "i8", "f8"]
    known = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "env": kept_in(own_folder / "code")}
    for turn in range(2):
        going = [subprocess.Popen([sys.executable, "-c", CALLS, own_folder, name], **known) for name in types]
        said = [process.communicate()[0].split() for process in going]
        assert [words[0] for words in said] == ["5.0"] * len(types)
        if turn:
            assert any(words[1] == "1" for words in said)
    assert len(list((own_folder / "code").rglob("*.nbc"))) == len(types)


FILES = {
    "deep": "from pagestore.jit import compiled\n\nSHIFT = 1\n\n\n@compiled\ndef deep(x):\n    return x + SHIFT\n",
    "table": "import numpy as np\n\nTABLE = np.array([10, 20])\nTIMES = (2, 3)\nnarrow = np.uint16\n",
    "between": "from deep import deep\nfrom pagestore.jit import compiled\n\n\n@compiled(inline='always')\n"
               "def between(x):\n    return deep(x)\n",
    "kept": "from between import between\nfrom pagestore.jit import compiled\nfrom table import TABLE, TIMES, narrow\n"
            "\n\n@compiled\ndef add(x):\n    return narrow(later(x)) * TIMES[0] + TABLE[1]\n\n\n"
            "@compiled\ndef later(x):\n    return between(x)\n",
}  # fmt: skip
CHANGES = [
    ("deep", "SHIFT = 1", "SHIFT = 5"), ("deep", "x + SHIFT", "x - SHIFT"), ("between", "deep(x)", "deep(x) + 7"),
    ("between", "inline='always'", "error_model='numpy'"), ("table", "(2, 3)", "(4, 3)"),
    ("table", "[10, 20]", "[10, 30]"), ("table", "uint16", "uint8"), ("kept", ") *", ") +"),
]  # fmt: skip


class Modules:
    """FILES in a folder, and what a process that imports them finds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.texts = folder, dict(FILES)
        for name in FILES:
            self.change(name, "", "")

    def change(self, name: str, old: str, new: str) -> None:
        assert old in self.texts[name]
        self.texts[name] = self.texts[name].replace(old, new) if old else self.texts[name]
        (self.folder / f"{name}.py").write_text(self.texts[name])

    def start(self, x: int) -> subprocess.Popen[str]:
        """A process that imports them, waits for a line, and tells add(x), what it is in Python, how often kept code
        was found."""
        code = "import sys; sys.path.insert(0, sys.argv[1]); from kept import add; print(flush=True); input()\n"
        code += f"print(add({x}), add.py_func({x}), sum(add.stats.cache_hits.values()))"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # Python's own kept bytecode is fresh while a file's size and second of its change are the same.
        env = {**kept_in(self.folder / "code"), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen([sys.executable, "-c", code, self.folder], text=True, cwd=ROOT, env=env, **pipes)
        assert process.stdout is not None and process.stdout.readline() == "\n"
        return process

    def told(self, x: int = 30, process: subprocess.Popen[str] | None = None) -> list[int]:
        out, err = (process or self.start(x)).communicate("\n")
        assert out, err
        return [int(word) for word in out.split()]


@pytest.mark.long
def test_what_is_kept_is_made_anew_where_anything_in_it_has_changed(own_folder):
    """Functions of other files, those that they call, and constants: Numba looks at the function's own file alone."""
    modules = Modules(own_folder)
    assert modules.told() == [82, 82, 0]
    for change in CHANGES:
        found, expected, hits = modules.told()
        assert hits == 1 and found == expected, "nothing has changed"
        modules.change(*change)
        found, expected, hits = modules.told()
        assert hits == 0 and found == expected, change
        names = [path.name.partition("-")[0] for path in (own_folder / "code").rglob("*.nbc")]
        assert len(set(names)) == len(names) > 1, "what is outdated goes"


@pytest.mark.parametrize(
    "change",
    [("deep", "x + SHIFT", "x - 7"), pytest.param(("kept", "+ TABLE[1]", "+ 5"), marks=pytest.mark.long)],
    ids=["other", "own"],
)
def test_files_that_change_while_a_process_runs(change, own_folder):
    """What it compiles is what it has imported, and kept as such."""
    modules = Modules(own_folder)
    process = modules.start(30)
    modules.change(*change)
    assert modules.told(process=process) == [82, 82, 0]
    found, expected, hits = modules.told()
    assert found == expected != 82 and hits == 0


def test_without_a_folder_to_write_it_is_compiled_anew(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    function = compiled(lambda x: x + 1)
    assert function(np.int64(4)) == 5


def test_options_are_passed_on():
    @compiled(error_model="numpy")
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf
