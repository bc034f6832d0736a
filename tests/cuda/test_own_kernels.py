"""Record kernels of users over the stand-in for the driver: arrays of all kinds come to what the cores make of them."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
TEXT = """
import gstream
from gstream import *


@gstream.helper
def part(x, y):
    return x / (y + 1)


@record_kernel(least="int64[] min", most="float32[] max", share="float64[] sum", edges="uint64[1] sum", odd="bits or")
def kinds(record, degree, least, most, share, edges, odd, limit: int = 20, factor=0.5):
    v = record.vertex
    for u in record.neighbours():
        atomic_add(edges, 0, u64(1))
        if u & u64(1):
            set_bit(odd, v)
        if degree[u] < limit:
            atomic_add(share, v, part(degree[u], 3))
            lower(least, u, i64(degree[v]) - 7)
            raise_to(most, u, f32(record.weight() * factor))


@algorithm
def twice(sweeps, limit: int = 20):
    found = [sweeps.array(kind, fill) for kind, fill in ((i64, 9), (f32, 0), (f64, 0))]
    edges, odd = sweeps.array(u64, size=1), sweeps.bits()
    for _ in range(2):
        sweeps.sweep(kinds, least=found[0], most=found[1], share=found[2], edges=edges, odd=odd, limit=limit)
    return {"least": found[0], "share": found[2], "edges": edges[0]}
"""


@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0,1", "host,cuda:0"])
@pytest.mark.parametrize("cache", ["auto", "0"])
def test_they_come_to_what_cores_make_of_them(tmp_path, devices, cache):
    (tmp_path / "mine.py").write_text(TEXT)
    source, target = np.random.default_rng(6).integers(0, 250, (2, 4000))
    source[:900] = 11
    weight = np.random.default_rng(7).integers(1, 50, 4000).astype("<f4")
    convert_arrays(tmp_path / "g.gs", source, target, weight, vertices=250, page_bytes=4096, order="degree")
    for name in ("kinds", "twice"):
        with gstream.open(tmp_path / "g.gs", devices="host") as graph:
            wanted = graph.run(f"{tmp_path}/mine.py:{name}", limit=30)
        with gstream.open(tmp_path / "g.gs", devices=devices, cache=cache, batch_bytes=8192) as graph:
            found = graph.run(f"{tmp_path}/mine.py:{name}", limit=30)
        assert found.to_pandas().equals(wanted.to_pandas()) and found.summary["edges"] == wanted.summary["edges"]
        assert found.to_pandas()["share"].max() > 0 and "note" not in found.summary
