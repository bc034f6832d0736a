"""A pull of SUM over pages that all stay on a device, queued when it is not known yet that it has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gstream.devices.fake import FakeDevice
    from gstream.pagetable import PageTable


class Repeat(Protocol):
    """One such pull; gstream.overlap says when."""

    def ask(self, frontier: bool) -> None:
        """Queue what the next frontier(False, None), or else `tally`, says: that waits for nothing queued later."""

    def retract(self) -> None:
        """What was queued since is not wanted: it ends, and is not counted."""


class FakeRepeat:
    """The pull over so many pages of a topology on a fake device, which looks at edges when it likes."""

    def __init__(self, device: FakeDevice, table: PageTable, pages: int) -> None:
        self._device, self._table, self._pages = device, table, pages

    def ask(self, frontier: bool) -> None:
        self._device.ask()

    def retract(self) -> None:
        device = self._device
        device.finish()
        device.looked = 0
        device.stats.pages -= self._pages
        device.ring.caches[self._table.name].hits -= self._pages
