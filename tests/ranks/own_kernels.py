"""Record kernels and an algorithm of a user's, which ranks share: arrays that are merged by each of the ways."""

from __future__ import annotations

import numpy as np

from gstream import algorithm, atomic_add, f32, i64, is_set, lower, raise_to, record_kernel, set_bit, u64


@record_kernel(level="uint32[] min")
def hops(record, frontier, superstep, level, next_frontier):
    v = record.vertex
    if not is_set(frontier, v):
        return
    if superstep == 0:
        lower(level, v, 0)
    for u in record.neighbours():
        if lower(level, u, superstep + 1):
            set_bit(next_frontier, u)


@record_kernel("in", least="int64[] min", most="float32[] max", weight="sum", edges="uint64[1] sum", odd="bits or")
def kinds(record, degree, least, most, weight, edges, odd):
    v = record.vertex
    for u in record.neighbours():
        atomic_add(edges, 0, u64(1))
        if u & u64(1):
            set_bit(odd, v)
        atomic_add(weight, v, u64(1))
        lower(least, v, i64(degree[u]))
        raise_to(most, v, f32(degree[u]) / 2)


@record_kernel(found="float64[] sum")
def adds(record, degree, found):
    for u in record.neighbours():
        atomic_add(found, record.vertex, degree[u] + 0.5)


@algorithm
def twice(sweeps, times: int = 2):
    found = sweeps.array(np.float64)
    for _ in range(times):
        sweeps.sweep(adds, found=found)
    return {"found": found, "sum": found.sum()}
