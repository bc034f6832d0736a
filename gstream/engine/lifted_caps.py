"""Caps that a plan lifts where a program stands in for page kernels, which take less memory than it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gstream.options.run_options import RunOptions
from pagestore.errors import CapError


class LiftedCaps:
    """Part of an Engine. options: its own."""

    options: RunOptions

    @contextmanager
    def caps_kept(self) -> Iterator[None]:
        """Memory caps that plans lift within the block are as before behind it."""
        before = self.options
        try:
            yield
        finally:
            self.options = before

    def lacks_for(self, error: CapError) -> bool:
        """Whether a plan should say what is lacking instead: of memory that a machine has not, which nobody capped."""
        return False

    def lift_cap(self, error: CapError, room: float = 1.0) -> None:
        """Raise the cap that an error names to what it says is enough, or `room` times as much."""
        given: Any = {error.option.removeprefix("--").replace("-", "_"): int(error.need * room)}
        self.options = replace(self.options, **given)
