"""A page kernel of an algorithm, with the arrays that all devices change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.ranks import Ranks
from gstream.hostcode.bitmaps import bits_where
from gstream.hostcode.records import load_kernel
from gstream.records import RecordKernel

Join = Callable[[dict[str, Any], list[dict[str, Any]]], None]
Across = Callable[[Ranks], None]


@dataclass(frozen=True)
class ArraySweep:
    """A page kernel (gstream.devices.page_kernel) whose devices all change the same arrays, by atomics only.

    kernel: a record kernel, which GPUs can run too, or a compiled function(words, parts, counter, *arrays) that runs
    without the GIL. join: merges the copies of "own" arrays that several GPUs or ranks have. listed: vertices whose
    lists alone are to be looked at. across: has all ranks agree on the arrays that the kernel wrote; None: those of a
    record kernel are merged.
    """

    kernel: Callable[..., int] | RecordKernel
    arrays: tuple[Any, ...]
    join: Join | None = None
    listed: np.ndarray | None = None
    across: Across | None = None

    @property
    def name(self) -> str:
        return self.kernel.name if isinstance(self.kernel, RecordKernel) else self.kernel.__name__

    @property
    def named(self) -> dict[str, Any]:
        """A record kernel's arrays and numbers by name."""
        if not isinstance(self.kernel, RecordKernel):
            return {}
        return dict(zip(self.kernel.parameters, self.arrays, strict=True))

    @property
    def merges(self) -> dict[str, str] | None:
        """How copies of the arrays that it writes become one, as gstream.records says; None: nobody says so."""
        return self.kernel.merges if isinstance(self.kernel, RecordKernel) else None

    @property
    def needs_weights(self) -> bool:
        return isinstance(self.kernel, RecordKernel) and self.kernel.uses_weights

    def make_state(self) -> tuple[Any, ...]:
        if isinstance(self.kernel, RecordKernel):  # compiled by this thread alone, before others call it
            load_kernel(self.kernel, "walk" if self.listed is None else "walk_listed")
        return self.arrays

    def run(
        self, words: np.ndarray, weights: np.ndarray | None, parts: np.ndarray, counter: np.ndarray, state: Any
    ) -> int:
        function = load_kernel(self.kernel) if isinstance(self.kernel, RecordKernel) else self.kernel
        return self._call(function, words, weights, parts, counter, state)

    def run_listed(
        self, words: np.ndarray, weights: np.ndarray | None, records: np.ndarray, counter: np.ndarray, state: Any
    ) -> int:
        assert isinstance(self.kernel, RecordKernel), "only record kernels are called for chosen lists"
        return self._call(load_kernel(self.kernel, "walk_listed"), words, weights, records, counter, state)

    def _call(self, function: Callable[..., int], words: Any, weights: Any, work: Any, counter: Any, state: Any) -> int:
        if self.needs_weights:
            return function(words, weights, work, counter, *state)
        return function(words, work, counter, *state)

    def merge(self, states: list[Any]) -> Any:
        return states[0] if states else self.arrays


def join_falls(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """Merge GPUs' copies of `left` and `following`: what each took away, and the vertices that fell to 0 by all."""
    left = arrays["left"]
    before = left.copy()
    for copy in copies:
        left -= before - copy["left"]
    arrays["following"] |= bits_where((before > 0) & (left == 0))
