"""How long a command compiled is told apart from its work."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import numba
import pytest

from gstream.telemetry.compiling import compile_time
from tests.cli.command import Command


def test_conversions_tell_how_long_they_compiled(
    tmp_path: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edges.txt").write_text("0 1\n")
    told = json.loads(gstream("convert", "edges.txt", "graph.gs", "--json").stdout)
    assert 0 <= told["compile_seconds"] <= told["seconds"]
    for seconds, said in ((2.5, ", 2.5 s of it to compile or load kernels"), (0.0005, "")):
        monkeypatch.setattr("gstream.cli.convert.compile_time", lambda: nullcontext(lambda: seconds))  # noqa: B023
        done = gstream("convert", "edges.txt", "graph.gs", "--force")
        assert re.search(rf"\ntook +\S+ s{said}, \S+ edges/s, peak memory", done.stdout)


def test_what_is_compiled_is_timed() -> None:
    with compile_time() as seconds:
        assert seconds() == 0
        assert numba.njit(lambda x: x + 1)(2) == 3
        once = seconds()
        assert once > 0
        assert numba.njit(lambda x: x + 2)(2) == 4
        assert seconds() > once
