"""Ranks give the answers of one process: equal bits where values are combined by MIN, MAX or OR, sums within 1e-6."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from choice import MODE, also
from in_ranks import CAPPED, PLANNED
from kept_calls import CALLS
from rank_cases import CASES, REFUSED, WIDE
from rank_processes import HERE, mpiexec, split_all

from gstream.algorithms.registry import ALGORITHMS

COUNTS = [2, pytest.param(3, marks=pytest.mark.long), pytest.param(5, marks=pytest.mark.long)]
SECONDS = 1200.0  # a launcher that hangs: all cases are in one start
NAMES = [name for name, case in CASES.items() if MODE != "some" or not case.long]


@pytest.fixture(scope="session", params=COUNTS, ids=lambda count: f"{count} ranks")
def outcome(request: pytest.FixtureRequest, stores: Path) -> list[dict[str, str]]:
    """What each rank found, of all cases in one start."""
    count = request.param
    split_all(stores, count)
    done = mpiexec(count, HERE / "in_ranks.py", stores, *NAMES, *REFUSED, cwd=stores, seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    return [json.loads((stores / f"{rank}.json").read_text()) for rank in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_ranks_give_the_answer_of_one_process(outcome, name):
    assert [found[name] for found in outcome] == [""] * len(outcome)


@pytest.mark.long
def test_ranks_draw_the_same_sources(outcome):
    assert [found["drawn"] for found in outcome] == [""] * len(outcome)


@pytest.mark.long
def test_answers_on_drawn_graphs_in_parts_are_those_of_one_process(outcome):
    assert [found["drawn graphs"] for found in outcome] == [""] * len(outcome)


@pytest.mark.parametrize("way", ["pull", "push"])
@pytest.mark.parametrize("combine", ["sum", "min", *also("max", "or")])
def test_ranks_exchange_the_values_of_mirrors_alone(outcome, combine, way):
    """The volume of a superstep is the model's, and less than what all values would be."""
    counted, model = outcome[0]["volumes"][f"{combine}, {way}"]
    assert counted == pytest.approx(model, rel=0.05)
    assert counted < 0.75 * (4 + 8) * WIDE * (len(outcome) - 1)


@pytest.mark.parametrize("way", ["pull", "push"])
def test_ranks_exchange_bits_and_the_values_that_change(outcome, way):
    """In each superstep of a search: a rank tells owners of some of the vertices that change, and mirrors of all."""
    ranks = len(outcome)
    for least, counted, most, planned in outcome[0]["searched"][way]:
        assert least < counted <= most + 2 * ranks * (ranks - 1), "bits go in bytes"
        assert 0.98 * counted <= planned <= (1.02 if way == "pull" else 1.2) * counted


def test_a_rank_has_the_state_of_its_slice_and_mirrors_alone(outcome):
    """Attributes take as much less as there are fewer vertices, but for words and blocks that the slice begins in."""
    for found in outcome:
        whole, own, share = found["state"]
        assert own < whole * min(share + 0.02, 0.95)


def test_ranks_write_rows_of_their_own_and_none_has_all_values(outcome):
    assert [found["apart"] for found in outcome] == [""] * len(outcome)


def test_certificates_of_slices_notice_what_is_wrong(outcome):
    assert [found["noticed"] for found in outcome] == [""] * len(outcome)


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_of_slices_is_what_a_rank_holds(outcome, name):
    """But for buffers of a bounded size, which plans leave out; of mirrors they have the most of any part."""
    counted, planned = max(found["peaks"][name] for found in outcome)
    assert 0.93 * planned < counted <= 1.02 * planned


@pytest.mark.parametrize("name", CAPPED)
def test_a_rank_holds_no_more_than_its_cap(outcome, name):
    """Bitmaps of mirrors are counted, or go where a run has values of all vertices. Pages fill what is left."""
    for held, cap in (found["capped"][name] for found in outcome):
        assert 0.8 * cap < held <= cap


def test_sums_go_to_other_ranks_while_pages_stream(outcome):
    for found in outcome:
        kinds = found["streamed"]
        assert kinds.count("pages") > 1 and kinds.index("sums") < len(kinds) - kinds[::-1].index("pages"), kinds


def test_a_rank_has_room_for_its_own_pages_alone(outcome):
    held, whole = outcome[0]["room"]
    assert whole / len(outcome) <= held < 1.3 * whole / len(outcome)


def test_every_algorithm_is_tried():
    """Which run is in CASES and in kept_calls, which are refused in REFUSED."""
    tried = {case.what for case in CASES.values() if isinstance(case.what, str)} | {call[1] for call in CALLS.values()}
    assert tried == set(ALGORITHMS)


@pytest.mark.parametrize("name", REFUSED)
def test_what_ranks_cannot_share_is_refused(outcome, name):
    assert all(REFUSED[name][1] in found[name] for found in outcome), outcome[0][name]
