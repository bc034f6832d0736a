"""glibc's memory while a graph is converted, and after it in the same process; in runs, too."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

from pagestore.heap import KEPT_BYTES, MAPPED_BYTES
from pagestore.memory import convert_arrays


def counts_mappings():
    library, version = platform.libc_ver()
    return library == "glibc" and tuple(map(int, version.split("."))) >= (2, 33)


PRELUDE = """
import ctypes, sys
import numpy as np
from pagestore import heap
from pagestore.convert import pipeline
from pagestore.memory import convert_arrays

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info

def mapped(size):
    rest = [np.empty(size, np.uint8) for _ in range(30)]  # of the heap, as imports left it, where that has room
    before = mallinfo().hblks
    array = np.empty(size, np.uint8)
    return int(mallinfo().hblks - before)

sizes = [int(word) for word in sys.argv[2:]]
"""
CONVERT = """steps = pipeline.Conversion._steps
pipeline.Conversion._steps = lambda self: print("during", *map(mapped, sizes)) or steps(self)
for number in range(4):
    budget = 64 << 20 if number < 2 else 2 << 30
    convert_arrays(f"{sys.argv[1]}{number}", np.arange(9), np.arange(1, 10), memory_bytes=budget)
    print("after", *map(mapped, sizes))
with heap.returning_freed_memory():
    with heap.returning_freed_memory(2 << 30):
        print("both", *map(mapped, sizes))
    print("another's", *map(mapped, sizes))
"""


RUN = """
import gstream
with gstream.open(sys.argv[1]) as graph:
    graph.bfs(source=0)
print(*map(mapped, sizes))
"""
SIZES = [MAPPED_BYTES // 2, 2 * MAPPED_BYTES, KEPT_BYTES // 2, 2 * KEPT_BYTES]
OF_GLIBC = pytest.mark.skipif(
    not counts_mappings(), reason="thresholds are glibc's own, and mallinfo2, which counts, is of 2.33"
)


def told_by(script, path):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, path, *map(str, SIZES)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@OF_GLIBC
def test_large_arrays_are_mappings_of_their_own_while_converting_alone(tmp_path):
    assert told_by(CONVERT, tmp_path / "g.gs") == [
        *["during 0 1 1 1", "after 0 0 0 1"] * 2,
        *["during 0 0 1 1", "after 0 0 0 1"] * 2,  # arrays of less than 8 MiB are had again from what was freed
        "both 0 1 1 1",
        "another's 0 1 1 1",
    ]


@OF_GLIBC
def test_runs_take_large_arrays_from_the_heap(tmp_path):
    convert_arrays(tmp_path / "g.gs", np.arange(9), np.arange(1, 10))  # by this process: the other one only runs
    assert told_by(RUN, tmp_path / "g.gs") == ["0 0 0 1"]
