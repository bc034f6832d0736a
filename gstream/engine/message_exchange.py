"""Messages that `apply` hands to all devices, in place of values.

A pull of sums needs of a vertex what it sends, and nothing else. So where the values of all vertices stay on the
devices, the device that computes a vertex's value writes its message to every device: one pass over the vertices less,
and over the link between devices only what those send that have out-edges. Values stay with the device whose slice has
them until somebody asks.

In degree order it is the first vertices that send: slices of as many vertices each would have one device send nearly
everything, and the link between devices idle in the other direction. A sender counts for several vertices.
"""

from __future__ import annotations

from typing import Any

from gstream.devices.base import Exchange
from gstream.devices.job import Range
from gstream.planning.plan import Plan


class Sending:
    """What one run sends so. on: whether it does; sent: messages are there, and values only with their owners."""

    def __init__(self, code: Any, plan: Plan, exchange: Exchange) -> None:
        self._plan, self._exchange, self.sent = plan, exchange, False
        self.on = exchange.sends and self._may(code)
        whole = plan.device.resident and plan.chunks
        exchange.attach(self.slices(plan.chunks[0]) if whole else None, self.on)

    def _may(self, code: Any) -> bool:
        """Only where a message depends on its vertex alone: `apply` does not know yet what the totals come to."""
        plan = self._plan.device
        fits = plan.resident and plan.message and self._plan.sweep and self._plan.directions == ("pull",)
        return fits and len(self._plan.chunks) == 1 and not any(kind == "g" for kind, _ in code.emitter.reads("send"))

    def slices(self, chunk: Range) -> list[Range]:
        """One slice of the chunk a device, in order."""
        return self._plan.slices(chunk, heavy=self._plan.device.senders if self.on else 0)

    def collect(self) -> None:
        """Bring the values of all slices to the first device."""
        if self.sent:
            self._exchange.collect(self.slices(self._plan.chunks[0]))
