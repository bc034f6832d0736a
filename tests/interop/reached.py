"""A pytest plugin for NetworkX's own suite: counts the tests in which a function of the backend ran.

The number goes to the file that GSTREAM_REACHED names, a line "reached N".
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from gstream.nx.left_out import LeftToNetworkXError

tests: set[str] = set()
running: list[str] = []


@pytest.fixture(autouse=True)
def _this_test(request: pytest.FixtureRequest) -> None:
    running[:] = [request.node.nodeid]


def _counted(call: Any) -> Any:
    def counted(*args: Any, **kwargs: Any) -> Any:
        try:
            found = call(*args, **kwargs)
        except LeftToNetworkXError:
            raise
        except Exception:  # an error of NetworkX's is an answer
            tests.update(running)
            raise
        tests.update(running)
        return found

    return counted


def pytest_collection_finish() -> None:
    """Wrap the functions, once NetworkX has loaded the backend."""
    from gstream.nx.backend import backend
    from gstream.nx.declare import FUNCTIONS

    for name in FUNCTIONS:
        setattr(backend, name, _counted(getattr(backend, name)))


def pytest_sessionfinish() -> None:
    """Say how many."""
    with open(os.environ["GSTREAM_REACHED"], "w") as file:
        file.write(f"reached {len(tests)}\n")
