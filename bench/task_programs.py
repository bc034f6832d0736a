"""The whole task in one program each, as its user would write it: text, graph, algorithm, table in pandas.

    python -m bench.task_programs PROGRAM ALGORITHM TEXT SOURCE ANSWER [DEVICES]

A process of its own reads TEXT (an undirected edge a line, IDs 0..V-1), and writes the answer's column as ANSWER.npy.
The last line of its output is JSON: seconds of each stage. gstream-again finds the store that gstream left.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

STAGES = ("import", "read", "run", "table")
ALPHA, TOLERANCE, ITERATIONS = 0.85, 1e-6, 100
Made = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]  # read; run the graph; the answer's table


def of_gstream(algorithm: str, text: Path, source: int, devices: list[str], again: bool) -> Made:
    import gstream

    store = text.with_suffix(".task.gs")

    def read() -> Any:
        return gstream.open(store) if again else gstream.convert(text, store, directed=False, force=True)

    def run(graph: Any) -> Any:
        if algorithm == "bfs":
            return graph.bfs(source=source, predecessors=False, devices=devices)
        return graph.pagerank(alpha=ALPHA, tol=TOLERANCE, devices=devices)

    return read, run, lambda answer: answer.to_pandas().rename(columns={"distance": "value", "pagerank": "value"})


def of_networkit(algorithm: str, text: Path, source: int) -> Made:
    import networkit
    import pandas as pd

    def read() -> Any:
        return networkit.graphio.EdgeListReader("\t", 0, "#", continuous=True, directed=False).read(str(text))

    def run(graph: Any) -> Any:
        if algorithm == "bfs":
            return networkit.distance.BFS(graph, source, storePaths=False).run()
        found = networkit.centrality.PageRank(graph, ALPHA, TOLERANCE)
        found.norm = networkit.centrality.Norm.L1_NORM
        return found.run()

    def table(found: Any) -> Any:
        values = np.array(found.getDistances() if algorithm == "bfs" else found.scores())
        return pd.DataFrame({"vertex": np.arange(len(values)), "value": values})

    return read, run, table


def of_igraph(algorithm: str, text: Path, source: int) -> Made:
    import igraph
    import pandas as pd

    def run(graph: Any) -> Any:
        return graph.distances(source)[0] if algorithm == "bfs" else graph.pagerank(damping=ALPHA)

    def table(values: Any) -> Any:
        return pd.DataFrame({"vertex": np.arange(len(values)), "value": np.array(values, dtype=float)})

    return lambda: igraph.Graph.Read_Edgelist(str(text), directed=False), run, table


def of_scipy(algorithm: str, text: Path, source: int) -> Made:
    import pandas as pd
    import scipy.sparse
    from scipy.sparse.csgraph import dijkstra

    from bench.peers import power_iteration

    def read() -> Any:
        edges = pd.read_csv(text, sep="\t", header=None, dtype=np.int32).to_numpy()
        ends = np.concatenate((edges, edges[:, ::-1]))
        count = int(ends.max()) + 1
        return scipy.sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))

    def run(graph: Any) -> Any:
        if algorithm == "bfs":
            return dijkstra(graph, unweighted=True, indices=source)
        return power_iteration(graph, np.diff(graph.indptr), ALPHA, 50)

    return read, run, lambda values: pd.DataFrame({"vertex": np.arange(len(values)), "value": values})


def main(arguments: list[str]) -> None:
    program, algorithm, text, source, answer, *devices = arguments
    clock = [time.perf_counter()]
    import pandas  # noqa: F401  # of every program's table, so that none has it later

    if program.startswith("gstream"):
        steps = of_gstream(algorithm, Path(text), int(source), devices or ["host"], program == "gstream-again")
    else:
        make = {"networkit": of_networkit, "igraph": of_igraph, "scipy": of_scipy}[program]
        steps = make(algorithm, Path(text), int(source))
    clock.append(time.perf_counter())
    made: list[Any] = [None]
    for step in steps:
        made.append(step(made[-1]) if made[-1] is not None else step())  # type: ignore[call-arg,arg-type]
        clock.append(time.perf_counter())
    frame = made[-1].sort_values("vertex")
    np.save(answer, np.stack((frame["vertex"].to_numpy(float), frame["value"].astype(float).to_numpy())))
    print(json.dumps(dict(zip(STAGES, np.diff(clock).tolist(), strict=True))))


if __name__ == "__main__":
    main(sys.argv[1:])
