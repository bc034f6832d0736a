"""A pull of SUM over pages that all stay on a device, queued when it is not known yet that it has to be."""

from __future__ import annotations

from typing import Protocol


class Repeat(Protocol):
    """One such pull; gstream.engine.early_pull says when."""

    def ask(self, frontier: bool) -> None:
        """Queue what the next frontier(False, None), or else `tally`, says: that waits for nothing queued later."""

    def retract(self) -> None:
        """What was queued since is not wanted: it ends, and is not counted."""
