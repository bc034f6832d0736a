"""Every algorithm on every kind of device: one small graph each, whatever `make test` leaves out elsewhere."""

from __future__ import annotations

import entry_runs
import numpy as np
import pytest
import record_graphs
from compilers import needs_gxx

import gstream
from gstream.algorithms.registry import ALGORITHMS

OWN = {**entry_runs.ASKED, **record_graphs.ASKED, "pagerank": {"iterations": 3}}
UNDIRECTED = ("triangles", "ktruss", "msf", "hcc")
ON_GPUS = {name for names in entry_runs.KINDS.values() for name in names} | {name for _, name in record_graphs.CASES}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the host's cores make of each algorithm: (path of a graph, answer)."""
    folder = tmp_path_factory.mktemp("stores")
    paths = {"acyclic": entry_runs.make_path(folder, "acyclic", 300, 1500)}
    for kind in ("directed", "undirected"):
        (folder / kind).mkdir()
        paths[kind] = record_graphs.make_path(folder / kind, kind, 400, 3000, 4096)
    found = {}
    for name in ALGORITHMS:
        kind = "acyclic" if name == "levels" else "undirected" if name in UNDIRECTED else "directed"
        found[name] = paths[kind], answer(paths[kind], name, "host")
    return found


def answer(path, name, devices):
    with gstream.open(path) as graph:
        return graph.execute(name, OWN.get(name, {}), devices=devices).to_arrow()


def compare(answers, name, devices):
    path, expected = answers[name]
    mine = answer(path, name, devices)
    assert mine.schema == expected.schema and len(mine) == len(expected), name
    for column in expected.column_names:
        if expected[column].type in ("float", "double"):
            np.testing.assert_allclose(mine[column], expected[column], rtol=1e-5, atol=1e-15, err_msg=name)
        else:
            assert mine[column].equals(expected[column]), (name, column)


@pytest.mark.parametrize("devices", ["host:2", "fake:1:2"])
def test_devices_of_the_host(answers, devices):
    for name in ALGORITHMS:
        compare(answers, name, devices)


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("name", ["wcc", "pagerank"])
def test_gpus(answers, name):
    """test_algorithms.py and test_record_kernels.py run the others."""
    assert {"wcc", "pagerank"} | ON_GPUS == set(ALGORITHMS)
    compare(answers, name, "cuda")
