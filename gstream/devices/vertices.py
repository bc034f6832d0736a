"""Kernels over vertices: what a device does with the attributes of the job that is attached to it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from gstream.devices.job import Range, Step
from gstream.paging.page_table import PageTable


class Vertices(ABC):
    """Attributes of one job on one device. Calls may queue what they do; `load` and what returns something wait.

    A part is a range of vertices in the WA chunk, at multiples of 64. Bitmaps are of all vertices.
    """

    @abstractmethod
    def load(self, chunk: Range, values: bool) -> None:
        """Make `chunk` the WA chunk. values: bring its values from host memory. Done on return. Resident: nothing."""

    @abstractmethod
    def start(self, part: Range) -> None:
        """First values, next bits, open bits and partials of a part."""

    @abstractmethod
    def refresh(self, part: Range) -> None:
        """RA of a pull for a part: messages, or a copy of the values; nothing where the values themselves are read."""

    @abstractmethod
    def reopen(self) -> None:
        """Open bits of all vertices from their values (resident, programs with `done`)."""

    @abstractmethod
    def heads(self, step: Step, part: Range) -> None:
        """Settle open vertices of a part from the heads of step.table; writes value, next, open and remain bits."""

    @abstractmethod
    def apply(self, part: Range) -> None:
        """New values of a part from what it got, its next bits and partials (programs that do not relax in place)."""

    @abstractmethod
    def apply_again(self, part: Range, everybody: bool) -> None:
        """The same for vertices that were told (next bits) or whose value changed, or for everybody; what vertices got
        stays. Resident jobs of SUM, where the exchange `notifies`."""

    @abstractmethod
    def forget(self, part: Range, told: bool) -> None:
        """What vertices of a part got goes back to the identity; told: only of those whose next bit is set."""

    @abstractmethod
    def store(self, part: Range) -> None:
        """Values of a part to host memory (HostVertices.next_value). Resident: nothing."""

    @abstractmethod
    def partials(self, part: Range) -> np.ndarray:
        """float64[blocks of the part, totals]: there when `Exchange.frontier` has returned; until the next call."""

    @abstractmethod
    def advance(self) -> None:
        """Next bits become the active bits; next bits are cleared."""

    @abstractmethod
    def hold_back(self, step: float, least_edges: int) -> None:
        """Vertices that were held back are active again. Of least_edges and more, those with values past the least +
        step are held back. Only where the plan has held_bits.
        """

    @abstractmethod
    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        """Vertices held back in small pages (int64[n]) are active again; not hubs, whose large pages do not come."""

    @abstractmethod
    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        """uint64[k], ascending: vertices whose bit is set; which: "active", "open" or "remain".

        None where there are more than `most`, and from devices whose kernels had rather test every bit.
        """

    @abstractmethod
    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        """integers[pages]: how many vertices of each page's range of `table` have their bit set; which: "next", too."""

    @abstractmethod
    def read_values(self) -> np.ndarray:
        """value[V] of a resident job, in store order."""

    @abstractmethod
    def read_bits(self, which: str) -> np.ndarray:
        """uint64[ceil(V / 64)], a copy: the "active" bits, or the "held" ones where the plan has held_bits."""

    @abstractmethod
    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        """Go on from value[V] (resident; else the driver has put them into HostVertices) and active bits. No vertex is
        held back, all are open."""
