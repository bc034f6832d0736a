"""A sampler for PyG (torch_geometric 2.4 or newer) over a store, which need not fit in memory.

    graph = gstream.open("papers.gs")
    loader = NodeLoader(data, PageSampler(graph, [15, 10]), input_nodes=train, batch_size=1024)

Rows of `data.x` are the vertices in ascending order of their IDs. `data` needs no edges:
Data(x=x, y=y, edge_index=torch.empty(2, 0, dtype=torch.long)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch_geometric.sampler import BaseSampler, SamplerOutput

import gstream


class PageSampler(BaseSampler):
    """Samples edges that lead to the seeds, hop by hop. For NodeLoader: samples around edges are not offered.

    Batch k of a pass draws with seed + k. So a process that samples batches in the same order draws the same edges.
    """

    def __init__(self, graph: gstream.Graph, fanouts: Sequence[int], seed: int = 0, **options: Any) -> None:
        """options: of Graph.sample, as replace, direction and page_memory."""
        self.graph, self.fanouts, self.seed, self.options = graph, list(fanouts), seed, options
        self._batches = 0
        meta = graph.store.meta
        self._first = meta.id_base if meta.id_kind == "range" else None
        self._ids = graph.store.user_ids() if self._first is None else None  # the user's IDs of rows

    def sample_from_nodes(self, inputs: Any, **_: Any) -> SamplerOutput:
        """inputs: a NodeSamplerInput; its nodes are rows of `data.x`."""
        rows = inputs.node.numpy()
        seeds = rows + self._first if self._ids is None else self._ids.take(rows).tolist()
        found = self.graph.sample(seeds, self.fanouts, seed=self.seed + self._batches, **self.options)
        self._batches += 1
        return SamplerOutput(
            node=torch.from_numpy(found.index),
            row=torch.from_numpy(found.row),
            col=torch.from_numpy(found.col),
            edge=torch.from_numpy(found.edge),
            num_sampled_nodes=found.nodes_per_hop.tolist(),
            num_sampled_edges=found.edges_per_hop.tolist(),
            metadata=(inputs.input_id, inputs.time),
        )

    def sample_from_edges(self, inputs: Any, neg_sampling: Any = None) -> SamplerOutput:
        """Refuse loaders of edges, as LinkNeighborLoader. PyG's BaseSampler has the method as an abstract one."""
        raise TypeError("PageSampler samples around nodes, not around edges. Use NodeLoader.")
