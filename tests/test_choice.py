"""What `make test` leaves out, `make test-rest` runs."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import choice
import pytest


class Item:
    """A test as pytest finds it. most: examples that a property asks for."""

    def __init__(self, name: str, *marks: pytest.Mark, most: int | None = None, **parameters: Any) -> None:
        self.nodeid, self.marks = name, {mark.name: mark for mark in marks}
        self.obj = SimpleNamespace()
        if most is not None:
            self.obj._hypothesis_internal_use_settings = SimpleNamespace(max_examples=most)
        if parameters:
            self.callspec = SimpleNamespace(params=parameters)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)


def cases_of(together: int, **values: range) -> list[Item]:
    covering = pytest.mark.covering(together).mark
    return [
        Item(f"t.py::test[{'-'.join(map(str, case))}]", covering, **dict(zip(values, case, strict=True)))
        for case in product(*values.values())
    ]


@pytest.mark.parametrize(("together", "most"), [(1, 5), (2, 24)])
def test_every_value_and_every_pair_is_held(together: int, most: int) -> None:
    cases = cases_of(together, a=range(5), b=range(4), c=range(3))
    chosen = choice.covering(cases)
    assert len(chosen) <= most
    for one, other in product("abc", repeat=2):
        if together == 2 or one == other:
            held = {(case.callspec.params[one], case.callspec.params[other]) for case in chosen}
            assert held == {(case.callspec.params[one], case.callspec.params[other]) for case in cases}


def test_nothing_is_left_out_and_little_runs_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    long, longer = pytest.mark.long.mark, pytest.mark.longer.mark
    some = [Item("t.py::a"), Item("t.py::b", most=20)]
    both = [Item("t.py::c", longer), Item("t.py::d", most=100)]
    rest = [Item("t.py::e", long), Item("t.py::f", long, most=100)]
    cases = cases_of(1, a=range(3), b=range(3))
    chosen = choice.covering(cases)
    items, ran = [*some, *both, *rest, *cases], {}
    for mode in choice.MODES:
        monkeypatch.setattr(choice, "MODE", mode)
        out = choice.deselected(items, ["tests"])
        ran[mode] = {item.nodeid for item in items if item not in out}
        assert choice.deselected(items, ["tests/t.py::e"]) == []
    assert ran["all"] == {item.nodeid for item in items} == ran["some"] | ran["rest"]
    assert ran["some"] == {item.nodeid for item in [*some, *both, *chosen]} and len(chosen) == 3
    assert ran["some"] & ran["rest"] == {item.nodeid for item in both}


def test_seeds_come_from_the_whole_range(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(some: int, cases: range) -> list[int]:
        return [case for case in choice.seeds(some, cases) if isinstance(case, int)]

    assert chosen(4, range(10, 20)) == [10, 12, 15, 17] and chosen(2, range(1)) == [0]
    assert len(choice.seeds(4, range(10))) == 10
    assert [mark.name for mark in choice.seeds(1, range(2))[1].marks] == ["long"]
    for mode, count in (("some", 2), ("all", 9), ("rest", 9)):
        monkeypatch.setattr(choice, "MODE", mode)
        assert choice.few(2, 9) == count
