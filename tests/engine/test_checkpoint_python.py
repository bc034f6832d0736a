"""Checkpoints as `graph.pagerank(checkpoint=...)` keeps them: refusals in the user's words, and Ctrl-C."""

from __future__ import annotations

import re
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine_graphs import Least, make_store, skewed_edges

import gstream
from gstream.engine import checkpoint_checks
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.options.run_options import RunOptions
from gstream.options.stopping import RunStopped, StopRequest
from pagestore.errors import InputError, UsageError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(2000, 16000, seed=3)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, np.ones(len(source)), vertices=2000) as made:
        yield made


def test_from_python(store, tmp_path):
    with gstream.open(store.path, checkpoint=tmp_path / "kept", checkpoint_every="0s") as graph:
        first = graph.bfs(source=7)
        again = graph.bfs(source=7, resume=True)
        assert first.summary["stats"]["kept"]["resumed"] is None
        assert again.summary["stats"]["kept"]["resumed"] == first.summary["supersteps"]
        assert again.to_numpy().tobytes() == first.to_numpy().tobytes(), "predecessors, too"
        with pytest.raises(UsageError, match="its checkpoint is of bfs; this run is of Least"):
            graph.run(Least, bias=1, resume=True)
        graph.run(Least, bias=1, checkpoint=tmp_path / "other")
        with pytest.raises(UsageError, match="checkpoint: degrees has nothing between two sweeps from which it could"):
            graph.degrees()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resume": True}, "resume=True: is about checkpoints. Pass checkpoint=FOLDER too."),
        ({"checkpoint_every": 3}, "checkpoint_every: is about checkpoints"),
        ({"checkpoint": ""}, 'checkpoint: names no folder. Pass one, as checkpoint="kept".'),
        ({"checkpoint": "x", "checkpoint_every": "often"}, "checkpoint_every often: must be supersteps, as 10"),
        ({"checkpoint": "x", "checkpoint_every": 0}, "checkpoint_every 0: supersteps are a whole number"),
        ({"checkpoint": "x", "checkpoint_every": "1.5"}, "A time has a unit: 1.5s."),
        ({"checkpoint": "x", "checkpoint_every": -1}, "checkpoint_every -1: must be"),
        ({"checkpoint": "x", "resume": True, "replace_checkpoint": True}, "resume and replace_checkpoint"),
    ],
)
def test_options_that_mean_nothing(given, message):
    with pytest.raises(UsageError) as caught:
        RunOptions(**given)
    assert message in str(caught.value)


def test_refusals_name_what_the_user_gave(store, tmp_path):
    """Not the program's own parameters; khop and bfs run one program, and are not each other's."""
    with gstream.open(store.path, checkpoint=tmp_path, checkpoint_every=1) as graph:
        graph.pagerank(max_iter=3)
        for given, said in (
            ({"alpha": 0.9}, "with alpha=0.85; this one has alpha=0.9. Pass the same, or start afresh: pass "
             "replace_checkpoint=True instead of resume=True."),
            ({"float64": True}, "with float64=False; this one has float64=True."),
            ({"personalization": {3: 1}}, "with no personalization; this one has personalization={3: 1}."),
        ):  # fmt: skip
            with pytest.raises(UsageError) as caught:
                graph.pagerank(resume=True, **{"max_iter": 3, **given})
            assert f"checkpoint {tmp_path}: its checkpoint is of a run {said}" in str(caught.value)
        assert graph.pagerank(max_iter=5, resume=True).summary["supersteps"] == 5, "when it ends may change"
        graph.bfs(source=7, predecessors=False, replace_checkpoint=True)
        with pytest.raises(UsageError, match="its checkpoint is of bfs; this run is of khop. Name another folder"):
            graph.khop(source=7, radius=50, resume=True)
        with pytest.raises(UsageError, match="with source=7; this one has source=7, 8. Pass the same"):
            graph.bfs(source=[7, 8], resume=True)
        assert graph.bfs(source=["7"], resume=True).summary["stats"]["kept"]["resumed"]


def test_long_lists_are_told_apart_without_being_shown(store, tmp_path):
    """Many vertices are said by the first of them and a hash; another list that begins so has another."""
    with gstream.open(store.path, checkpoint=tmp_path, checkpoint_every=1) as graph:
        graph.bfs(source=range(500))
        assert graph.bfs(source=list(range(500)), resume=True).summary["stats"]["kept"]["resumed"]
        with pytest.raises(UsageError) as caught:
            graph.bfs(source=range(501), resume=True)
    begins = ", ".join(map(str, range(500)))[:40]
    told = re.search(
        r"with source=(.*)\.\.\. \((\w{8})\); this one has source=(.*)\.\.\. \((\w{8})\)\. Pass", str(caught.value)
    )
    assert told and told[1] == told[3] == begins and told[2] != told[4]


def test_checkpoints_of_another_version_or_shape_are_refused(store, tmp_path, monkeypatch):
    """Neither is read as if it were this one's: one says its version, the other has arrays for fewer vertices."""
    with gstream.open(store.path, checkpoint=tmp_path, checkpoint_every=1) as graph:
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint_checks, "VERSION", checkpoint_checks.VERSION + 1)
            graph.pagerank(max_iter=3)
        with pytest.raises(UsageError, match="its checkpoint is of another version of gstream. Name another folder"):
            graph.pagerank(max_iter=3, resume=True)
        graph.pagerank(max_iter=3, replace_checkpoint=True)
        with SlotFolder(tmp_path) as slots:
            found = slots.newest()
        past = found.arrays["active"].copy()
        past[-1] |= np.uint64(1) << np.uint64(store.meta.vertices % 64)
        assert store.meta.vertices % 64, "there is a bit past the last vertex"
        for name, array, said in (
            ("value", found.arrays["value"][:-1], "is no checkpoint of this graph and program"),
            ("active", past, "has vertices past the graph's last"),
        ):
            with SlotFolder(tmp_path) as slots:
                slots.write(found.description, {**found.arrays, name: array})
            with pytest.raises(InputError, match=f"slot-.: {said}. Start afresh"):
                graph.pagerank(max_iter=3, resume=True)
        assert graph.pagerank(max_iter=3, replace_checkpoint=True).summary["supersteps"] == 3


def test_a_file_that_changed_since_is_named(store, tmp_path):
    likes = tmp_path / "likes.txt"
    likes.write_text("3 1\n")
    with gstream.open(store.path, checkpoint=tmp_path / "kept", checkpoint_every=1) as graph:
        graph.pagerank(personalization=likes)
        likes.write_text("4 1\n")
        with pytest.raises(UsageError, match="is of pagerank, whose input, a file that it reads, has changed since"):
            graph.pagerank(personalization=likes, resume=True)


@pytest.fixture
def interrupts():
    """SIGINT as Python starts with it; a shell's background jobs start with none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_in_python(store, tmp_path, times):
    """The first ends the superstep and keeps the run; the second is at once."""

    def press(number, step):
        for _ in range(times if number == 3 else 0):
            signal.raise_signal(signal.SIGINT)

    with gstream.open(store.path, checkpoint=tmp_path, checkpoint_every=100) as graph:
        with pytest.raises(KeyboardInterrupt) as caught:
            graph.pagerank(iterations=9, progress=press)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if times == 2:
            assert list(tmp_path.iterdir()) == []
            return
        assert str(caught.value) == (
            f"{tmp_path}: holds the run's checkpoint after superstep 3. Go on with resume=True."
        )  # fmt: skip
        with pytest.raises(UsageError, match="holds a checkpoint of pagerank after superstep 3. Pass resume=True to"):
            graph.pagerank(iterations=9)
        again = graph.pagerank(iterations=9, resume=True)
        assert again.summary["stats"]["kept"]["resumed"] == 3 and again.summary["supersteps"] == 9


def test_ctrl_c_that_others_handle_is_theirs(store, tmp_path):
    """A handler of the caller's own, a thread, a request of the caller's own: none of them is changed."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with gstream.open(store.path, checkpoint=tmp_path / "handler", checkpoint_every=1) as graph:
            found = graph.pagerank(iterations=2, progress=lambda number, step: signal.raise_signal(signal.SIGINT))
            assert found.summary["supersteps"] == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT] * 2
    with gstream.open(store.path, checkpoint=tmp_path / "thread") as graph, ThreadPoolExecutor(1) as pool:
        assert pool.submit(graph.pagerank, iterations=2).result().summary["supersteps"] == 2
    stop = StopRequest()
    with gstream.open(store.path, checkpoint=tmp_path / "own", stop=stop) as graph, pytest.raises(RunStopped):
        graph.pagerank(iterations=5, progress=lambda number, step: stop.ask())
