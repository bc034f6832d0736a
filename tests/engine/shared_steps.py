"""Runs of which cores and other devices share each superstep, in an order that a seed stands for."""

from __future__ import annotations

import random
from contextlib import ExitStack, closing

import numpy as np
import pytest

from gstream.engine import superstep
from gstream.engine.dispatcher import Dispatcher
from gstream.engine.engine import Engine
from gstream.programs.pagerank import PageRank


class Drawn(Dispatcher):
    """Cores and devices take turns on one thread, whoever the seed names, and as many pages as it says.

    The cores begin a run: later the devices may hold every page, so that none is left to share.
    """

    draw = random.Random(0)
    shared = False  # a superstep of this run

    def _pays(self, step, demand, in_place):
        return not self.shared or self.draw.random() < 0.8

    def _side_by_side(self, work, feedings, pools):
        def device_by_device():
            with ExitStack() as stack:
                going = [stack.enter_context(closing(feeding)) for feeding in feedings]
                while going:
                    one = self.draw.choice(going)
                    if next(one, going) is going:
                        going.remove(one)
                    yield

        both, turn = [work, device_by_device()], self.draw.random()
        while both:
            one = both[0] if not self.shared or self.draw.random() < turn else both[-1]
            self.shared = True
            if next(one, both) is both:
                both.remove(one)
        self._run.exchange.order()

    def _next(self, step, pools):
        if self._fixed:
            return super()._next(step, pools)
        pool = self.draw.choice(pools)
        return pool.take_first(self.draw.choice([1, 2, 5, 40])) if pool.left else max(
            pools, key=lambda pool: pool.left
        ).take_first(1)  # fmt: skip


def draw_dispatchers(monkeypatch, seed):
    monkeypatch.setattr(Drawn, "draw", random.Random(seed))
    monkeypatch.setattr(superstep, "Dispatcher", Drawn)


def steps_of(program):
    return 6 if isinstance(program, PageRank) else None


def expected_of(store, program):
    with Engine(store) as engine:
        return engine.run(program, steps_of(program)).value


def check_shared(engine, program, expected):
    """Two runs give the answer of the cores alone; the pages that the cores took."""
    taken = 0
    for _ in range(2):
        found = engine.run(program, steps_of(program))
        taken += found.stats.cores_pages
        if isinstance(program, PageRank):
            np.testing.assert_allclose(found.value, expected, rtol=1e-5)
        else:
            assert np.array_equal(found.value, expected)
    return taken


shared_options = pytest.mark.parametrize(
    "options",
    [{}, {"cache": "0"}, {"direction": "push", "cache": "0"}, {"chunk_vertices": 8192, "cache": "0"},
     {"chunk_vertices": 8192, "direction": "push"}, {"host_memory": 3 << 20, "dispatch": "fixed"},
     {"dispatch": "fixed"}, {"use_heads": False, "cache": "lru", "device_memory": 700_000}],
    ids=lambda options: " ".join(f"{name} {value}" for name, value in options.items()) or "usual",
)  # fmt: skip
