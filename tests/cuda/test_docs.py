"""The record kernels of the docs over the stand-in for the driver: the host's answers."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from pagestore.memory import convert_arrays
from tests.cli.pages import PAGES, transcripts

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
VERTICES = 300


@pytest.fixture
def store(tmp_path):
    """The page's files, and an undirected graph without repeated edges."""
    for block in transcripts.blocks(PAGES["docs/pages/how-to/record-kernels.md"].read_text()):
        if name := transcripts.file_name(block):
            (tmp_path / name).write_text("\n".join(block.lines) + "\n")
    pairs = np.unique(np.sort(np.random.default_rng(5).integers(0, VERTICES, (4000, 2))), axis=0)
    source, target = pairs[pairs[:, 0] < pairs[:, 1]].T
    convert_arrays(tmp_path / "g.gs", source, target, vertices=VERTICES, directed=False, page_bytes=4096)
    return tmp_path


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["host", "cuda:0", "cuda:0,2"])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_record_kernels_of_the_docs_run_on_gpus(store, devices, streamed):
    options = {"devices": devices} | ({"host_memory": "100KiB", "batch_bytes": 8192} if streamed else {})
    with gstream.open(store / "g.gs") as graph:
        degree = graph.degrees().to_pandas()["degree"].to_numpy()
        triangles = graph.triangles().to_pandas()["triangles"].to_numpy()
        hops = graph.bfs(source=3, predecessors=False).to_pandas()["distance"].to_numpy()
    with gstream.open(store / "g.gs", **options) as graph:
        table = graph.run(f"{store}/hardest.py").to_pandas()
        assert table["largest"].max() == degree.max()
        assert (graph.run(f"{store}/hops.py", source=3).to_pandas()["level"].to_numpy() == hops).all()
        found = graph.run(f"{store}/triangles.py:triangles", of=range(0, VERTICES, 2)).to_pandas()["triangles"]
        assert (found[::2] == triangles[::2]).all() and found[1::2].max() == 0 and found.max() > 0
