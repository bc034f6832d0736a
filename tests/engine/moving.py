"""Runs whose pages change devices after every superstep: what tests of all kinds of devices share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gstream.engine.engine import Engine
from gstream.paging.ownership import Partition
from gstream.programs.pagerank import PageRank


def check_moving(store, program, options):
    """Weights that change after every superstep: the answers are those of one host device."""
    steps = 6 if isinstance(program, PageRank) else None
    with Engine(store) as engine:
        expected = engine.run(program, steps).value
    random = np.random.default_rng(4)

    def move(number, step):
        weights = random.integers(0, 4, engine.exchange.partition.devices)
        weights[random.integers(len(weights))] += 1
        engine.exchange.partition = Partition(tuple(map(float, weights)))

    with Engine(store, replace(options, progress=move)) as engine:
        found = [engine.run(program, steps) for _ in range(2)]
    for outcome in found:
        pushed = any(step.direction == "push" for step in outcome.stats.per_superstep)
        if isinstance(program, PageRank) and (pushed or options.devices[0].startswith("cuda")):
            np.testing.assert_allclose(outcome.value, expected, rtol=1e-5)
        else:
            assert np.array_equal(outcome.value, expected)
