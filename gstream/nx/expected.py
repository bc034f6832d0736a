"""Tests of NetworkX's own suite that fail through the backend, each with its reason; strict, so that none passes."""

from __future__ import annotations

from typing import Any

# (the file's name, class and test): why
FAILING = {
    ("test_strongly_connected.py", "TestStronglyConnected::test_condensation_mapping_and_members"):
        "numbers components in the order of Tarjan's search; gstream's come by their first nodes",
    ("test_dag.py", "TestDAG::test_topological_sort6"):
        "changes the graph while it is read; gstream's answer is whole before the first node comes",
    **{("test_louvain.py", name): "asks for one of several partitions of about the same modularity"
       for name in ("test_karate_club_partition", "test_undirected_selfloops", "test_none_weight_param",
                    "test_multigraph", "test_max_level", "test_petersen")},
    **{("test_leiden.py", name): "asks for the partition that NetworkX finds, of several of about the same modularity"
       for name in ("test_max_level_kwarg[Graph-modularity]", "test_max_level_kwarg[MultiGraph-modularity]",
                    "test_undirected_selfloops[modularity]")},
}  # fmt: skip


def mark_failing(items: list[Any]) -> None:
    """Mark the tests of FAILING among pytest's items."""
    import pytest

    for item in items:
        test = item.nodeid.partition("::")[2]  # before it stands no file, if pytest's root is elsewhere
        if reason := FAILING.get((item.path.name, test)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
