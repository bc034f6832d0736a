"""The record kernel of the docs over the stand-in for the driver: the host's answer."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from compilers import needs_gxx

from pagestore.memory import convert_arrays
from tests.cli.pages import PAGES, transcripts

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


def test_the_record_kernel_of_the_docs_runs_on_gpus(tmp_path):
    text = PAGES["docs/pages/how-to/record-kernels.md"].read_text()
    (block,) = [block for block in transcripts.blocks(text) if transcripts.file_name(block) == "hardest.py"]
    (tmp_path / "hardest.py").write_text("\n".join(block.lines) + "\n")
    spec = importlib.util.spec_from_file_location("hardest", tmp_path / "hardest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source, target = np.random.default_rng(5).integers(0, 300, (2, 4000))
    convert_arrays(tmp_path / "g.gs", source, target, vertices=300, page_bytes=4096)
    here = module.hardest(tmp_path / "g.gs")
    degree = np.bincount(source, minlength=300)
    assert max(here[1]) == degree[np.unique(target)].max()
    assert module.hardest(tmp_path / "g.gs", devices="cuda:0,2") == here
