"""pytest in processes of its own: how it is started, and which tests there are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from bench import machine

# Without a limit for each test: many processes share what there is.
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0"]


def tests_of(given: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
    """Names of the tests that pytest finds with these arguments."""
    every = {**(os.environ if env is None else env), "GSTREAM_TESTS": "all"}
    done = subprocess.run(
        [*PYTEST, *given, "--collect-only"], cwd=machine.ROOT, env=every, capture_output=True, text=True, check=False
    )
    return [line for line in done.stdout.splitlines() if "::" in line]
