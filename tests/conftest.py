"""What every area shares: which tests are run (choice.py), and Hypothesis without deadlines (the first call of a kernel
compiles it).

GSTREAM_EXAMPLES=10000 has every property tried on so many examples, whatever its own @settings say; `make test` tries
20, where they say more.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import choice
import pytest
import quick
from hypothesis import HealthCheck, settings

from pagestore import caches

EXAMPLES = "GSTREAM_EXAMPLES"
ROOT = Path(__file__).resolve().parent.parent
# Areas whose supersteps the driver makes in "some", but for those of the files below.
DRIVEN = {"answers", "cli", "cuda", "engine", "interop", "programs"}
FAST = {"test_frontier_schedules.py", "test_interrupts.py", "test_lent.py", "test_near.py", "test_notify_pull.py",
        "test_rounds.py", "test_settled.py", "test_small.py", "test_trip.py"}  # fmt: skip
ON_HOSTS = "small_frontier.SmallFrontier", "settled_sums.SettledSums", "notify_pull.NotifyPull"
# Fake devices, for commands in processes of their own, too: these find them by the path.
os.environ["GSTREAM_TEST_DEVICES"] = "tests.fakes.device:FakeDevice"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """tmp_path, where a cache may lie: no other user can write to a folder above it, whatever TMPDIR says."""
    if why := caches.why_unsafe(tmp_path):  # gstream keeps nothing there, rightly, so there is nothing to test
        pytest.skip(f"no cache may lie in {tmp_path}: {why}")
    return tmp_path


def have_examples(count: Callable[[int], int]) -> None:
    """Let settings that are made from now on have so many examples, given their own number: decorators win over
    profiles otherwise."""
    usual = settings.__init__

    def asked(self: settings, *given: Any, **named: Any) -> None:
        more = {"max_examples": count(named["max_examples"])} if "max_examples" in named else {}
        usual(self, *given, **{**named, **more})

    settings.__init__ = asked  # type: ignore[method-assign]


asked, unknown = os.environ.get(EXAMPLES, ""), list[str]()
if asked:
    have_examples(lambda own: int(asked))
elif choice.MODE == "some":
    have_examples(lambda own: min(own, choice.EXAMPLES))
    unknown = quick.compile_quickly()
own: dict[str, Any] = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gstream", **own, max_examples=100)
settings.load_profile("gstream")


def pytest_report_header() -> str:
    return f"Numba compiles as users have it: tests/quick.py knows it without {', '.join(unknown)}" if unknown else ""


def pytest_configure() -> None:
    if choice.MODE not in choice.MODES:
        raise pytest.UsageError(f"GSTREAM_TESTS={choice.MODE}: give {', '.join(choice.MODES)}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = set(choice.deselected(items, config.args))
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """What is left after a file's tests, as Numba's code of all functions is, is not gone through in each collection of
    garbage after it: that took a second."""
    yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def fewest_edges() -> int:
    """Graphs of tests are small, and what cuts frontiers (gstream.engine.delta_stepping) is to be tried on them; the
    usual least one.
    """
    from gstream.engine import delta_stepping as near

    usual, near.FEWEST_EDGES = near.FEWEST_EDGES, 0
    return usual


@pytest.fixture(scope="session", autouse=True)
def most_edges() -> int:
    """The driver is to make most supersteps of tests' small graphs, and one thread (gstream.engine.small_frontier)
    some between them; the usual most edges of these."""
    from gstream.engine import small_frontier as small

    usual, small.MOST_EDGES = small.MOST_EDGES, 16
    return usual


@pytest.fixture(scope="module", autouse=True)
def no_fast_paths(request: pytest.FixtureRequest) -> Iterator[None]:
    """A fast path compiles kernels of its own for each program, for seconds: "some" has those of the tests alone that
    hold their values against the driver's, bit by bit."""
    driven = DRIVEN.intersection(request.path.parts) and request.path.name not in FAST
    with pytest.MonkeyPatch.context() as patch:
        for path in ON_HOSTS if choice.MODE == "some" and driven else ():
            patch.setattr(f"gstream.engine.{path}.applies", lambda run: False)
        yield
