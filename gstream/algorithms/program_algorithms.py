"""The algorithms that are programs, or little more: what gstream.algorithms.registry makes of each an Algorithm of."""

from __future__ import annotations

from typing import Any

ENTRIES: tuple[dict[str, Any], ...] = (
    {
        "name": "rwr", "title": "random walks with restart: PageRank personalised to sources",
        "runs": "centrality.centralities:run_rwr", "plans": "centrality.centralities:program_of_rwr",
        "proves": "centrality.residual_proofs:certify_rwr",
        "options": {"source": None, "alpha": 0.85, "tol": 1e-6, "max_iter": 100, "float64": False},
        "columns": ("proximity",), "best": "largest", "shows": "pagerank:PersonalizedPageRank",
        "definition": "PageRank from sources, dangling vertices lead there; no weights, repeated edges count; tol: "
        "absolute L1",
    },
    {
        "name": "katz", "title": "Katz centrality, NetworkX's definition",
        "runs": "centrality.centralities:run_katz", "plans": "centrality.centralities:program_of_katz",
        "proves": "centrality.residual_proofs:certify_katz",
        "options": {"alpha": 0.1, "beta": 1.0, "max_iter": 1000, "tol": 1e-6, "normalized": True},
        "columns": ("katz",), "best": "largest", "shows": "katz:Katz",
        "definition": "along in-edges, L2 length 1 if normalized; no weights, repeated edges count; tol: absolute L1 "
        "change",
    },
    {
        "name": "eigenvector", "title": "eigenvector centrality, over in-edges as NetworkX",
        "runs": "centrality.centralities:run_eigenvector", "plans": "centrality.centralities:program_of_eigenvector",
        "proves": "centrality.residual_proofs:certify_eigenvector",
        "options": {"max_iter": 100, "tol": 1e-6},
        "columns": ("eigenvector",), "best": "largest", "shows": "eigenvector:Eigenvector",
        "definition": "along in-edges, of A^T + I, L2 length 1; no weights, repeated edges count; tol: absolute L1 "
        "change",
    },
    {
        "name": "hits", "title": "hubs and authorities, each of sum 1 as NetworkX",
        "runs": "centrality.centralities:run_hits", "plans": "centrality.centralities:program_of_hits",
        "proves": "centrality.residual_proofs:certify_hits",
        "options": {"max_iter": 100, "tol": 1e-8, "normalized": True},
        "columns": ("hub", "authority"), "best": "largest", "shows": "hits:Authorities",
        "definition": "hubs and authorities of sum 1 if normalized; no weights, repeated edges count; tol: L1 change "
        "of hubs",
    },
    {
        "name": "degrees", "title": "degree distribution: vertices of each degree",
        "runs": "centrality.degrees:run_degrees", "proves": "centrality.degrees:certify_degrees",
        "options": {}, "columns": ("vertices",), "table": "rows",
        "definition": "in- and out-edges together, repeated ones each; an undirected self-loop counts once (NetworkX: "
        "twice)",
    },
    {
        "name": "khop", "title": "vertices within some edges of a source",
        "runs": "traversal.bfs:run_khop", "plans": "traversal.bfs:program_of_khop",
        "proves": "traversal.distance_proofs:certify_khop",
        "options": {"source": None, "radius": 1, "undirected": False}, "columns": ("distance",), "shows": "bfs:BFS",
    },
    {
        "name": "hcc", "title": "components by label propagation, for comparison with wcc",
        "runs": "components.wcc:run_hcc", "plans": "components.wcc:program_of_hcc",
        "proves": "components.component_proofs:certify_wcc",
        "options": {}, "columns": ("component",), "groups": True, "shows": "wcc:WCC",
    },
    {
        "name": "widest", "title": "widest paths: greatest least weight from a source",
        "runs": "traversal.widest:run_widest", "plans": "traversal.widest:program_of_widest",
        "proves": "traversal.widest:certify_widest",
        "options": {"source": None}, "columns": ("width",), "weights": True, "best": "largest",
        "shows": "widest:Widest",
        "definition": "the greatest least weight of a path from a source, infinite at a source",
    },
    {
        "name": "levels", "title": "topological levels, and longest paths, of a graph without cycles",
        "runs": "traversal.levels:run_levels", "proves": "traversal.levels:certify_levels",
        "options": {"weighted": False}, "columns": ("level", "distance"), "best": "largest",
        "definition": "most edges of a path that leads to a vertex; weighted, too: greatest weight of one, at least 0",
    },
    {
        "name": "closeness", "title": "closeness centrality, over paths to a vertex as NetworkX",
        "runs": "centrality.reach:run_closeness", "plans": "centrality.reach:program_of_reach",
        "proves": "centrality.search_proofs:certify_closeness",
        "options": {"wf_improved": True, "k": None, "seed": 0}, "columns": ("closeness",), "best": "largest",
        "shows": "reach:Reach",
        "definition": "over paths to a vertex, edges of length 1; scaled by Wasserman and Faust if wf_improved",
    },
    {
        "name": "harmonic", "title": "harmonic centrality, over paths to a vertex as NetworkX",
        "runs": "centrality.reach:run_harmonic", "plans": "centrality.reach:program_of_reach",
        "proves": "centrality.search_proofs:certify_harmonic",
        "options": {"k": None, "seed": 0}, "columns": ("harmonic",), "best": "largest", "shows": "reach:Reach",
        "definition": "sum of 1 / distance over paths to a vertex, edges of length 1; not divided by the number of "
        "vertices",
    },
    {
        "name": "radius", "title": "effective radii and diameter, estimated by sketches (HADI)",
        "runs": "centrality.reach:run_radius", "plans": "centrality.reach:program_of_radius", "proves": "",
        "options": {"sketches": 32, "max_iter": 256, "seed": 0}, "columns": ("radius",), "shows": "sketches:Sketches",
        "definition": "edges to 90 % of what a vertex reaches along out-edges, estimated by sketches (HADI)",
    },
    {
        "name": "heat", "title": "heat simulation, as CuSha and Garaph run it",
        "runs": "centrality.simulations:run_heat", "plans": "centrality.simulations:program_of_heat",
        "proves": "centrality.step_proofs:certify_heat",
        "options": {"initial": None, "iterations": 10, "rate": None}, "columns": ("temperature",), "weights": True,
        "best": "largest", "shows": "heat:Heat",
        "definition": "rate * weight * difference flows along in-edges, all at once, `iterations` times; repeated "
        "edges count",
    },
    {
        "name": "circuit", "title": "circuit simulation, as CuSha and Garaph run it",
        "runs": "centrality.simulations:run_circuit", "plans": "centrality.simulations:program_of_circuit",
        "proves": "centrality.step_proofs:certify_circuit",
        "options": {"initial": None, "iterations": 10}, "columns": ("voltage",), "weights": True, "best": "largest",
        "shows": "circuit:Circuit",
        "definition": "mean of in-neighbours by weight, all at once, `iterations` times; given ones hold; repeated "
        "edges count",
    },
    {
        "name": "neural", "title": "neural network simulation, as CuSha and Garaph run it",
        "runs": "centrality.simulations:run_neural", "plans": "centrality.simulations:program_of_neural",
        "proves": "centrality.step_proofs:certify_neural",
        "options": {"initial": None, "iterations": 10}, "columns": ("activation",), "weights": True,
        "best": "largest", "shows": "neural:Neural",
        "definition": "tanh of the weighted sum of in-neighbours, all at once, `iterations` times; repeated edges "
        "count",
    },
)  # fmt: skip

EXTRACTS: tuple[dict[str, Any], ...] = (  # whose rows are edges, read from the pages when they are asked for
    {
        "name": "subgraph", "title": "edges among some vertices: the induced subgraph",
        "runs": "subgraphs.subgraphs:run_subgraph", "proves": "subgraphs.subgraphs:certify_subgraph",
        "options": {"nodes": None}, "columns": ("target", "weight"), "table": "edges",
        "definition": "edges with both ends in the set, repeated ones and self-loops each; an undirected edge is one "
        "row",
    },
    {
        "name": "egonet", "title": "edges among the vertices within some edges of a source",
        "runs": "subgraphs.subgraphs:run_egonet", "proves": "subgraphs.subgraphs:certify_egonet",
        "options": {"source": None, "radius": 1, "center": True, "undirected": False},
        "columns": ("target", "weight"), "table": "edges",
        "definition": "edges among what lies within the radius, along out-edges or, undirected, any; repeated ones "
        "each",
    },
    {
        "name": "cross", "title": "edges from some vertices to others",
        "runs": "subgraphs.subgraphs:run_cross", "proves": "subgraphs.subgraphs:certify_cross",
        "options": {"nodes": None, "targets": None}, "columns": ("target", "weight"), "table": "edges",
        "definition": "edges from the first set to the second, repeated ones each; directed, not back (NetworkX: both "
        "ways)",
    },
)  # fmt: skip
