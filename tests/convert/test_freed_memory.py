"""glibc's memory while a graph is converted, and after it in the same process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from pagestore.convert.storage import KEPT_BYTES, MAPPED_BYTES


def counts_mappings():
    library, version = platform.libc_ver()
    return library == "glibc" and tuple(map(int, version.split("."))) >= (2, 33)


ASK = """
import ctypes, sys
import numpy as np
from pagestore.convert import pipeline, storage
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
steps = pipeline._Conversion._steps
pipeline._Conversion._steps = lambda self: print("during", *map(mapped, sizes)) or steps(self)
for number in range(2):
    convert_arrays(f"{sys.argv[1]}{number}", np.arange(9), np.arange(1, 10))
    print("after", *map(mapped, sizes))
with storage.returning_freed_memory():
    with storage.returning_freed_memory():
        pass
    print("another's", *map(mapped, sizes))
"""


@pytest.mark.skipif(not counts_mappings(), reason="thresholds are glibc's own, and mallinfo2, which counts, is of 2.33")
def test_large_arrays_are_mappings_of_their_own_while_converting_alone(tmp_path):
    sizes = [MAPPED_BYTES // 2, 2 * MAPPED_BYTES, KEPT_BYTES // 2, 2 * KEPT_BYTES]
    command = [sys.executable, "-c", ASK, tmp_path / "g.gs", *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["during 0 1 1 1", "after 0 0 0 1"] * 2 + ["another's 0 1 1 1"]
