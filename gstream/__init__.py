"""Graphs bigger than memory, processed by programs of ten lines of Python.

    import gstream

    with gstream.open("web.gs") as graph:
        print(graph.pagerank().top(20))
        graph.bfs(source=17).write("distances.parquet")

    open(path)                         a store that is there, as a Graph
    convert(inputs, store)             files of any edge list's format
    from_edges(source, target)         arrays, lists or columns
    from_pandas(frame), from_polars, from_arrow     tables and streams, columns by name
    from_networkx(graph), from_igraph, from_scipy   graphs and matrices of other libraries
    update(store, new, add=..., remove=...)         a store with edges added and removed, as another store
    generate(kind, scale=20)           a graph from a seed
    split(store, folder, parts=4)      a store in parts, one for each rank of runs on several machines
    plan("pagerank", vertices=10**9, edges=10**10, machine="h100x8")     what a run would take, without graph and GPU

    Graph      graph.ALGORITHM(...) runs one; degree, neighbors, has_edge, edges, plan, verify, export, info
    Result     result["pagerank"], result.at(vertex), top, to_pandas, to_arrow, to_numpy, to_dict, write, plot
    Program    the base of programs of your own (docs/pages/how-to/programs.md); graph.run(Mine, ...) runs one
    RunOptions what a run may use: keywords of open and of every run
    record_kernel, algorithm   page kernels and algorithms of your own (docs/pages/how-to/record-kernels.md)
    GstreamError    the base of all errors

Everything is loaded at its first use, so that `import gstream` is quick.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's, which would be most of this import: Ctrl-C in it shows Python's own traceback
if TYPE_CHECKING:
    from typing import Any

    from gstream.algorithms.support.shared import lower, raise_to
    from gstream.graph import Graph
    from gstream.graph import open_graph as open
    from gstream.hostcode.bitmaps import is_set, set_bit
    from gstream.hostcode.intrinsics import atomic_add, atomic_or, compare_and_swap, population, trailing_zeros
    from gstream.hostcode.jit import helper
    from gstream.interop.doors import (
        convert,
        from_arrow,
        from_edges,
        from_igraph,
        from_networkx,
        from_pandas,
        from_polars,
        from_scipy,
        generate,
        update,
    )
    from gstream.interop.plans import plan
    from gstream.interop.splitting import split
    from gstream.language.program import (
        INF,
        MAX,
        MIN,
        OR,
        SUM,
        PerVertex,
        Program,
        Vertex,
        Vertices,
        f32,
        f64,
        i32,
        i64,
        total,
        u8,
        u32,
        u64,
    )
    from gstream.options.run_options import RunOptions
    from gstream.records.users import algorithm, record_kernel
    from gstream.results.result import Result
    from gstream.version import __version__
    from pagestore.errors import GstreamError

_PROGRAM = (
    "INF", "MAX", "MIN", "OR", "SUM", "PerVertex", "Program", "Vertex", "Vertices", "f32", "f64", "i32", "i64", "total",
    "u8", "u32", "u64",
)  # fmt: skip
_ATOMICS = ("atomic_add", "atomic_or", "compare_and_swap", "population", "trailing_zeros")
_DOORS = (
    "convert", "from_arrow", "from_edges", "from_igraph", "from_networkx", "from_pandas", "from_polars", "from_scipy",
    "generate", "update",
)  # fmt: skip
_WHERE = {
    **dict.fromkeys(_PROGRAM, "gstream.language.program"),
    **dict.fromkeys(_DOORS, "gstream.interop.doors"),
    **dict.fromkeys(_ATOMICS, "gstream.hostcode.intrinsics"),
    **dict.fromkeys(("lower", "raise_to"), "gstream.algorithms.support.shared"),
    **dict.fromkeys(("is_set", "set_bit"), "gstream.hostcode.bitmaps"),
    "helper": "gstream.hostcode.jit",
    "plan": "gstream.interop.plans",
    "split": "gstream.interop.splitting",
    "algorithm": "gstream.records.users",
    "record_kernel": "gstream.records.users",
    "Graph": "gstream.graph",
    "GstreamError": "pagestore.errors",
    "Result": "gstream.results.result",
    "RunOptions": "gstream.options.run_options",
    "open": "gstream.graph",
    "__version__": "gstream.version",
}

__all__ = [
    "INF", "MAX", "MIN", "OR", "SUM", "Graph", "GstreamError", "PerVertex", "Program", "Result", "RunOptions", "Vertex",
    "Vertices", "__version__", "algorithm", "atomic_add", "atomic_or", "compare_and_swap", "convert", "f32", "f64",
    "from_arrow", "from_edges", "from_igraph", "from_networkx", "from_pandas", "from_polars", "from_scipy", "generate",
    "helper", "i32", "i64", "is_set", "lower", "open", "plan", "population", "raise_to",
    "record_kernel", "set_bit", "split", "total", "trailing_zeros", "u8", "u32", "u64", "update",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'gstream' has no attribute {name!r}")
    from importlib import import_module

    from pagestore.concurrency import LOADING

    with LOADING:
        return getattr(import_module(_WHERE[name]), "open_graph" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted(__all__)
