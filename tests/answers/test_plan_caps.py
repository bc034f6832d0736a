"""A plan names the caps that the run names, and refuses as it does: for every algorithm that has one, with its
certificate and without, on stores of every topology and on all kinds of devices."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gstream
from gstream.algorithms.plans import plan_of
from gstream.algorithms.registry import ALGORITHMS
from pagestore.errors import CapError, InputError, UsageError
from tests import choice
from tests.answers.test_caps import DEVICES, OPTIONS, STORES, example, given

CAPS = (("host_memory",), ("device_memory",), ("host_memory", "device_memory"))


def named(call: Any, caps: tuple[str, ...]) -> dict[str, int]:
    """Caps as the refusals name them: all are 1 byte at first, and none is named twice."""
    asked, refused = dict.fromkeys(caps, 1), set()
    while True:
        try:
            call(**asked)
            return asked
        except CapError as error:
            cap = error.option.removeprefix("--").replace("-", "_")
            assert cap in asked and cap not in refused, error
            refused.add(cap)
            asked[cap] = error.need


@pytest.mark.parametrize("store", choice.seeds(2, STORES))
def test_plans_refuse_as_runs_do(store, tmp_path):
    drawn, made, held = random.Random(store), example(store), 0
    with gstream.open(made.stored(tmp_path)) as graph:
        for name, algorithm in ALGORITHMS.items():
            options = [own for own in OPTIONS.get(name, [{}]) if set(own) <= set(algorithm.defaults)]
            for certify in {False, bool(algorithm.proof)} if algorithm.plan else ():
                own, caps = given(drawn.choice(options), made), drawn.choice(CAPS)
                run = {"devices": drawn.choice(DEVICES), "threads": 1, "use_heads": drawn.random() < 0.7}

                def planned(name=name, own=own, certify=certify, run=run, **caps):
                    return plan_of(name, graph.engine(**run, **caps), own, certify)

                def ran(name=name, own=own, certify=certify, run=run, **caps):
                    return graph.execute(name, own, certify, **run, **caps)

                try:
                    asked = named(planned, caps)
                except (UsageError, InputError):  # of another topology, or without a plan
                    continue
                assert asked == named(ran, caps), (name, own, certify, run)
                held += 1
    assert held >= 15


def test_the_plan_of_a_union_find_takes_no_more_than_that_does(tmp_path):
    """A program stands for it there, which would need more."""
    with gstream.open(example("both").stored(tmp_path)) as graph:
        caps = named(lambda **caps: graph.execute("wcc", {}, devices="fake:7", **caps), CAPS[2])
        assert caps["device_memory"] == 1
        plan = plan_of("wcc", graph.engine(devices="fake:7", **caps), {})
        assert sum(plan.device_bytes.values()) > 1
