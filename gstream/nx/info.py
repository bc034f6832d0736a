"""What NetworkX asks when it is imported: this file imports nothing, and `gstream` itself loads nothing."""

from __future__ import annotations

NAMES = (
    "all_pairs_bellman_ford_path_length", "all_pairs_dijkstra_path_length", "all_pairs_shortest_path",
    "all_pairs_shortest_path_length", "ancestors", "average_clustering", "average_shortest_path_length",
    "bellman_ford_path_length", "betweenness_centrality", "bfs_edges", "bfs_layers", "bfs_predecessors",
    "bfs_successors", "bfs_tree", "biadjacency_matrix", "bidirectional_dijkstra", "bidirectional_shortest_path",
    "center", "closeness_centrality", "clustering", "color", "connected_components", "core_number",
    "dag_longest_path_length", "degree_centrality", "descendants", "descendants_at_distance", "diameter",
    "dijkstra_path", "dijkstra_path_length", "eccentricity", "efficiency", "ego_graph", "eigenvector_centrality",
    "global_efficiency", "global_reaching_centrality", "harmonic_centrality", "has_path", "hits",
    "in_degree_centrality", "is_arborescence", "is_bipartite", "is_branching", "is_connected",
    "is_directed_acyclic_graph", "is_empty", "is_eulerian", "is_forest", "is_isolate", "is_k_regular",
    "is_negatively_weighted", "is_regular", "is_strongly_connected", "is_tree", "is_weakly_connected", "is_weighted",
    "isolates", "k_core", "k_crust", "k_shell", "k_truss", "katz_centrality", "leiden_communities",
    "local_reaching_centrality", "louvain_communities", "modularity", "multi_source_dijkstra_path_length",
    "node_connected_component", "node_degree_xy", "number_connected_components", "number_of_isolates",
    "number_of_selfloops", "number_strongly_connected_components", "number_weakly_connected_components",
    "out_degree_centrality", "overall_reciprocity", "pagerank", "periphery", "radius", "reciprocity", "sets",
    "shortest_path", "shortest_path_length", "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length", "single_source_shortest_path", "single_source_shortest_path_length",
    "single_target_shortest_path_length", "strongly_connected_components", "to_numpy_array", "to_scipy_sparse_array",
    "topological_generations", "transitivity", "triangles", "weakly_connected_components", "wiener_index",
)  # fmt: skip


def get_info() -> dict[str, object]:
    """Facts for NetworkX's documentation and dispatch, as `networkx.backend_info` has it."""
    return {
        "backend_name": "gstream",
        "project": "gstream",
        "package": "gstream",
        "short_summary": "Graphs bigger than memory, on cores and GPUs",
        "default_config": {},
        "functions": {name: {} for name in NAMES},
    }
