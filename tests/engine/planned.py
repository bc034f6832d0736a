"""A store whose plans are known, and those plans: what tests of the planner share."""

from __future__ import annotations

import numpy as np
from engine_graphs import make_store, skewed_edges

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.gpu_parts import count_parts
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP

V, E, PAGE = 20_000, 60_000, 4096
WEIGHTED = PAGE + PAGE // 4  # u1 weights of 4-byte IDs
BLOCKS, BITMAP = 3, 8 * -(-V // 64)  # of 8,192 vertices; of a bit a vertex
PROGRAMS = {"PageRank": PageRank(), "BFS": BFS(source=3), "SSSP": SSSP(source=3)}


def make(folder):
    """An open store of small pages, some of them a hub's."""
    source, target = skewed_edges(V, E, seed=5)
    weight = np.random.default_rng(6).integers(1, 200, E).astype(np.float64)
    made = make_store(folder, source, target, weight, vertices=V)
    assert made.meta.weight_dtype == "u1" and made.topology("out").pages > made.topology("out").small_pages
    return made


def planned(store, program, devices="fake:1", **options):
    with Engine(store, RunOptions(devices=[devices], **options)) as engine:
        return engine.plan(program)


def held(sizes):
    return sum(sizes.values())


def work_lists(plan, *names):
    """A part takes 16 B and its place 4, a list that is carried 24, a page 64; launches are claimed in 4 KiB."""
    found = 0
    for name in names:
        table = plan.graph.tables[name]
        large = np.arange(table.pages) >= table.small_pages
        parts, carried = count_parts(large, table.records, table.edges, table.page_layout)
        found += 20 * parts + 24 * carried + 64 * table.pages + 4096
    return found


CHUNKS = {"chunk_vertices": 8192}
