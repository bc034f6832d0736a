"""What kernels counted on a GPU, on its way to the host: asked for on a stream, told once the stream is that far."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gstream.devices.gpu.driver import Array, Gpu

ANSWERS = 4  # 8-byte numbers that kernels count in: active, their edges; edges looked at; held back


class Counting(Protocol):
    """Whose kernels count: a GPU's state of one job."""

    gpu: Gpu
    stream: Any
    answers: Array  # uint64[ANSWERS]
    queued: list[str]  # names of kernels that may still run

    def copy_words(self, source: int, to: int, count: int, kernel: str = "copy_words_kernel") -> None:
        """Queue a copy of 8-byte words, to pinned host memory, too."""


class Answers:
    """The answers of one job: `ask`, then `take`, which waits for nothing that is queued after `ask`.

    state: whose they are, which keeps them; in a cycle they would be let go of at any time, outside of a context.
    """

    def __init__(self) -> None:
        self._event: Any = None
        self._staging = np.zeros(0, np.uint64)
        self._asked: tuple[int, int] | None = None  # numbers on their way; kernels that were queued before them

    @property
    def asked(self) -> bool:
        return self._asked is not None

    def ask(self, state: Counting, array: Array | None = None) -> None:
        """Queue that the answers, which are zero again, come to the host, and all of an array of 8-byte elements."""
        count = ANSWERS if array is None else ANSWERS + array.count
        if len(self._staging) < count:
            self._staging = state.gpu.pinned(2 * count, np.uint64)
        self._event = self._event or state.gpu.event()
        address = self._staging.ctypes.data
        state.copy_words(state.answers.address, address, ANSWERS, "take_words_kernel")
        if array is not None:
            state.copy_words(array.address, address + 8 * ANSWERS, array.count)
        self._event.record(state.stream)
        self._asked = count, len(state.queued)

    def take(self, state: Counting) -> np.ndarray:
        """uint64[ANSWERS, and what was asked for beside them], once they are there; good until the next `ask`."""
        assert self._asked is not None, "nothing was asked"
        (count, before), self._asked = self._asked, None
        with state.gpu.suspecting(state.queued):  # errors of what was queued later may show here, too
            state.gpu.company.wait_event(self._event)
        del state.queued[:before]
        return self._staging[:count]

    def note_wait(self) -> None:
        """All kernels that were queued before are over, and their names forgotten."""
        if self._asked is not None:
            self._asked = self._asked[0], 0

    def free(self) -> None:
        """Give the event back; nothing may be queued."""
        self._event = None
