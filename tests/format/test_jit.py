"""Machine code on disk: each call's types get their own, whoever else writes there, and whenever a process dies."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching
from numba.core.dispatcher import Dispatcher

import gstream
import pagestore
from pagestore.jit import CacheFile, compiled

ROOT = Path(pagestore.__file__).parent.parent


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
            if info.name.endswith("__main__") or info.name == "gstream.devices.cuda":
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


def test_processes_side_by_side(tmp_path):
    """Each compiles for its own types, and a second one of the same types finds its machine code."""
    (tmp_path / "kept.py").write_text(
        "from pagestore.jit import compiled\n\n\n@compiled\ndef add(x):\n    return (x[1:] / 2).sum()\n"
    )
    types = ["u4", "f4", "i8", "f8"]
    for turn in range(2):
        going = [
            subprocess.Popen([sys.executable, "-c", CALLS, tmp_path, name], stdout=subprocess.PIPE, text=True, cwd=ROOT)
            for name in types
        ]
        said = [process.communicate()[0].split() for process in going]
        assert [words[0] for words in said] == ["5.0"] * len(types)
        if turn:
            assert any(words[1] == "1" for words in said)
    assert len(list((tmp_path / "__pycache__").glob("*.nbc"))) == len(types)


FILES = {
    "deep": "from pagestore.jit import compiled\n\nSHIFT = 1\n\n\n@compiled\ndef deep(x):\n    return x + SHIFT\n",
    "table": "import numpy as np\n\nTABLE = np.array([10, 20])\nTIMES = (2, 3)\n",
    "between": "from deep import deep\nfrom pagestore.jit import compiled\n\n\n@compiled(inline='always')\n"
               "def between(x):\n    return deep(x)\n",
    "kept": "from between import between\nfrom table import TABLE, TIMES\nfrom pagestore.jit import compiled\n\n\n"
            "@compiled\ndef add(x):\n    return later(x) * TIMES[0] + TABLE[1]\n\n\n"
            "@compiled\ndef later(x):\n    return between(x)\n",
}  # fmt: skip
CHANGES = [
    ("deep", "SHIFT = 1", "SHIFT = 5"), ("deep", "x + SHIFT", "x - SHIFT"), ("between", "deep(x)", "deep(x) + 7"),
    ("between", "inline='always'", "error_model='numpy'"), ("table", "(2, 3)", "(4, 3)"),
    ("table", "[10, 20]", "[10, 30]"), ("kept", "later(x) *", "later(x) +"),
]  # fmt: skip


def test_what_is_kept_is_made_anew_where_anything_in_it_has_changed(tmp_path):
    """Functions of other files, those that they call, and constants: Numba looks at the function's own file alone."""
    folder = tmp_path / "modules"
    folder.mkdir()
    texts = dict(FILES)

    def told():
        for name, text in texts.items():
            if not (folder / f"{name}.py").exists() or (folder / f"{name}.py").read_text() != text:
                (folder / f"{name}.py").write_text(text)
        code = "import sys; sys.path.insert(0, sys.argv[1]); from kept import add\n"
        code += "print(add(3), add.py_func(3), sum(add.stats.cache_hits.values()))"
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

    assert told() == [28, 28, 0]
    for file, old, new in CHANGES:
        found, expected, hits = told()
        assert hits == 1 and found == expected, "nothing has changed"
        assert old in texts[file]
        texts[file] = texts[file].replace(old, new)
        found, expected, hits = told()
        assert hits == 0 and found == expected, (file, new)


def test_without_a_folder_to_write_it_is_compiled_anew(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    function = compiled(lambda x: x + 1)
    assert function(np.int64(4)) == 5


def test_options_are_passed_on():
    @compiled(error_model="numpy")
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf
