"""Stores that ranks share. All vertices of wide.gs have edges, and its slices of sums begin in several blocks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges
from rank_cases import WIDE

pytest.importorskip("mpi4py", reason="ranks take mpi4py and a library of MPI's")

VERTICES, EDGES = 9_000, 40_000


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores, by their names below: small pages, hubs that take large ones. zeros.gs has weights of 0."""
    folder = tmp_path_factory.mktemp("stores")
    source, target = skewed_edges(VERTICES, EDGES, 5)
    weight = np.random.default_rng(5).integers(1, 200, EDGES).astype(np.uint8)
    kinds = {
        "directed": (None, {"topology": "both"}), "weighted": (weight, {"topology": "both", "order": "natural"}),
        "undirected": (weight, {"directed": False}), "floats": (weight / 7, {"topology": "both", "order": "natural"}),
        "zeros": (np.maximum(weight, 150) - 150.0, {"topology": "both"}),
    }  # fmt: skip
    for name, (weights, options) in kinds.items():
        made = make_store(folder, source, target, weights, **options)
        os.rename(made.path, folder / f"{name}.gs")
    near = np.random.default_rng(6).geometric(1e-4, (2, WIDE))  # neighbours are near, so that not all are mirrors
    ring = np.arange(WIDE)
    ends = [np.tile(ring, 2), np.concatenate([(ring + 1) % WIDE, (ring + near[0]) % WIDE])]
    made = make_store(folder, *ends, None, topology="both", order="natural")
    os.rename(made.path, folder / "wide.gs")
    return folder
