"""Waiting for a GPU whose streams wait for events of others: they would wait for ever once one of these has failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

PATIENCE_S = 0.01  # before others are asked how they are


class PeerWait:
    """The GPUs that one GPU may wait for, as long as any; waiting for that one goes through here."""

    def __init__(self) -> None:
        self._reached: Any = None
        self._others: Sequence[Callable[[], None]] = ()

    def begin(self, event: Any, others: Sequence[Callable[[], None]]) -> None:
        """Streams may wait for others now. event: for use here; others: each raises where its GPU has failed."""
        self._reached, self._others = event, others

    def end(self) -> None:
        """Streams wait for no other any more."""
        self._reached, self._others = None, ()

    def look(self) -> None:
        """Raise DeviceError where one of the others has failed."""
        for look in self._others:
            look()

    def wait_for(self, stream: Any) -> None:
        """Return when what is queued on a stream is over. Raises as `look` does."""
        if self._others:
            self._reached.record(stream)
            self.wait_event(self._reached)
        else:
            stream.synchronize()

    def wait_event(self, event: Any) -> None:
        """The same for an event."""
        began = time.monotonic()
        while self._others and not event.query():
            if time.monotonic() - began > PATIENCE_S:
                self.look()
            time.sleep(0)
        event.synchronize()


def suspects(queued: Sequence[str]) -> str:
    """Which kernel an error may come from that shows when several have been queued."""
    return queued[0] if len(queued) == 1 else f"one of {', '.join(queued)}" if queued else ""
