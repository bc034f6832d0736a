"""Page kernels of the algorithms, whose devices all change the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.hostcode.records import load_kernel
from gstream.records import RecordKernel


@dataclass(frozen=True)
class SharedKernel:
    """A page kernel (gstream.devices.page_kernel) whose devices all work on the same arrays: `function` changes them
    by atomics only.

    function(words, parts, counter, *arrays), with weights after words if needs_weights, compiled and without the GIL;
    a RecordKernel, where GPUs are to run it, too. listed: vertices, if it need not be called for lists of others.
    """

    function: Callable[..., int] | RecordKernel
    arrays: tuple[Any, ...]
    needs_weights: bool = False
    join: Callable[[dict[str, Any], list[dict[str, Any]]], None] | None = None  # of a RecordKernel's "own" arrays
    listed: np.ndarray | None = None

    def make_state(self) -> tuple[Any, ...]:
        if isinstance(self.function, RecordKernel):  # made by this thread alone, before others call it
            load_kernel(self.function, "walk" if self.listed is None else "walk_listed")
        return self.arrays

    def run(
        self, words: np.ndarray, weights: np.ndarray | None, parts: np.ndarray, counter: np.ndarray, state: Any
    ) -> int:
        function = load_kernel(self.function) if isinstance(self.function, RecordKernel) else self.function
        return self._call(function, words, weights, parts, counter, state)

    def run_listed(
        self, words: np.ndarray, weights: np.ndarray | None, records: np.ndarray, counter: np.ndarray, state: Any
    ) -> int:
        assert isinstance(self.function, RecordKernel), "only record kernels are called for chosen lists"
        return self._call(load_kernel(self.function, "walk_listed"), words, weights, records, counter, state)

    def _call(self, function: Callable[..., int], words: Any, weights: Any, work: Any, counter: Any, state: Any) -> int:
        if self.needs_weights:
            return function(words, weights, work, counter, *state)
        return function(words, work, counter, *state)

    def merge(self, states: list[Any]) -> Any:
        return states[0] if states else self.arrays
