"""Parts of a graph as tables of edges: subgraph, egonet, cross."""
