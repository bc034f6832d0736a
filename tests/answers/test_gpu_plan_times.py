"""Plans of calls on a GPU against calls that were measured on one: an H100, RMAT graphs of 16 edges a vertex.

The rates are those that runs had taught on the same H100 when the calls were measured.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gstream.algorithms.call_times import times_of, work_of
from gstream.algorithms.registry import ALGORITHMS
from gstream.planning.cost_equations import GpuConstants
from gstream.planning.estimates import MEASURED, estimate

RATES = {
    22: GpuConstants(5.39e10, 5.36e10, call_s=1.32e-5, push_edges=3.92e10, pull_edges=1.72e11, memory=1.22e12),
    24: GpuConstants(5.39e10, 5.36e10, call_s=1.32e-5, push_edges=2.89e10, pull_edges=1.89e11, memory=1.22e12),
}
EDGES = {22: 128_305_522, 24: 520_759_076}
MEASURED_MS: list[tuple[int, str, dict[str, Any], float]] = [
    (22, "pagerank", {"iterations": 20}, 18.1), (24, "pagerank", {"iterations": 20}, 55.4),
    (22, "pagerank", {}, 15.6), (24, "pagerank", {}, 49.9), (22, "wcc", {}, 1.03), (24, "wcc", {}, 1.31),
    (24, "bfs", {}, 6.8), (24, "bfs", {"predecessors": False}, 2.28),
]  # fmt: skip


def plan_in_memory(scale: int) -> Any:
    """A plan of one GPU that holds all pages and values."""
    constants, edges = RATES[scale], EDGES[scale]
    terms = {
        "direction": "pull", "edges": edges, "page_bytes": 0, "disk_bytes": 0, "load_bytes": 0,
        "attribute_bytes": 0, "merged_bytes": 0, "batches": 1, "decoded": 0,
    }  # fmt: skip
    graph = SimpleNamespace(edges=edges, vertices=1 << scale)
    attributes = 2 * 4 * (1 << scale) / constants.c1
    return SimpleNamespace(
        graph=graph, constants=constants, devices=1, chunks=[1], terms=lambda cold=False: terms,
        attribute_seconds=lambda: attributes,
    )  # fmt: skip


@pytest.mark.parametrize(("scale", "name", "own", "taken_ms"), MEASURED_MS)
def test_what_was_measured_is_planned_within_30_percent(scale, name, own, taken_ms):
    algorithm = ALGORITHMS[name]
    own = algorithm.defaults | own
    plan = plan_in_memory(scale)
    times, _ = times_of(algorithm, own, plan.graph.vertices)
    found = estimate(work_of(algorithm, own), times, plan, True, None, MEASURED)
    assert 0.7 < 1e3 * found.usual / taken_ms < 1.3
    assert found.least < taken_ms / 1e3 < found.most


def test_an_answer_that_several_gpus_hold_is_brought():
    algorithm = ALGORITHMS["wcc"]
    plan, times = plan_in_memory(24), (1, 1, 1)
    one = estimate(work_of(algorithm, algorithm.defaults), times, plan, True, None, MEASURED).usual
    plan.devices = 2
    two = estimate(work_of(algorithm, algorithm.defaults), times, plan, True, None, MEASURED).usual
    assert two > one + 4 * plan.graph.vertices / plan.constants.c1
