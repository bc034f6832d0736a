"""One refusal names a cap that is enough on GPUs, too: of the host's memory, the GPUs', or both, and it is kept."""

from __future__ import annotations

import random

import pytest
from choice import few
from compilers import needs_gxx

import gstream
from gstream.algorithms.registry import ALGORITHMS
from pagestore.errors import InputError, UsageError
from tests.answers.test_caps import OPTIONS, example, given, named_caps

CAPS = (("host_memory",), ("device_memory",), ("host_memory", "device_memory"))
SOME = ("khop", "egonet", "wcc", "pagerank")  # two that look along edges both ways, and two that do not


@needs_gxx
@pytest.mark.longer
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize(
    "store", ["in", *(pytest.param(name, marks=pytest.mark.long) for name in ("both", "undirected"))]
)
def test_the_first_cap_that_is_named_is_enough(store, tmp_path):
    drawn, made, ran = random.Random(store), example(store), 0
    with gstream.open(made.stored(tmp_path)) as graph:
        for name in few(SOME, tuple(ALGORITHMS)):
            own = given(OPTIONS.get(name, [{}])[0], made)
            for certify in {False, bool(ALGORITHMS[name].proof)}:
                run = {"devices": drawn.choice(["cuda", "cuda", "cuda:0,1"]), "use_heads": drawn.random() < 0.7}
                caps = drawn.choice(CAPS)
                try:
                    asked, found = named_caps(lambda **c: graph.execute(name, own, certify, **run, **c), caps)  # noqa: B023
                except (UsageError, InputError):
                    continue  # of another topology
                peak = found.summary["stats"]["peak_memory_bytes"]
                assert peak <= asked.get("host_memory", peak) or asked["host_memory"] == 1, (name, certify, run, asked)
                ran += 1
    assert ran >= few(4, 20)
