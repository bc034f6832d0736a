"""A vector in the memory of a device, or of several ranks, which stands for an array of the host's until somebody reads
it there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pagestore import Store


class HeldRows(NamedTuple):
    """Values of neighbouring rows, from number `first` on, in the order of rows. everybody: what each rank gives."""

    first: int
    values: np.ndarray
    everybody: Callable[[Any], list[Any]]


class Held(ABC):
    """One value a vertex, say, where it was made. dtype and size: as of an array; nbytes: what a copy takes."""

    def __init__(self, size: int, dtype: Any) -> None:
        self.size, self.dtype = size, np.dtype(dtype)

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @abstractmethod
    def count_unlike(self, none: Any) -> int:
        """How many values are not `none`."""

    @abstractmethod
    def take(self, places: np.ndarray) -> np.ndarray:
        """The values at some places (integers[n])."""

    @property
    def of_ranks(self) -> bool:
        """Whether no process has all of them, and each rank has some."""
        return False

    def rows(self, store: Store) -> HeldRows:
        """The rows of this rank. Callers ask `of_ranks` first; raises TypeError where one process has all values."""
        raise TypeError(f"{type(self).__name__}: one process has all values")

    def frequent(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(the `count` most frequent values, how often each is there), ties by value; all are below `size`. Callers ask
        `of_ranks` first; raises TypeError where one process has all values."""
        raise TypeError(f"{type(self).__name__}: one process has all values")

    def each(self, call: Callable[[np.ndarray], Any]) -> list[Any]:
        """What a call gives for all values, some at a time."""
        return [call(self.host())]

    def count(self, call: Callable[[np.ndarray], int]) -> int:
        """The sum of what a call gives for all values, some at a time."""
        return int(sum(self.each(call)))

    @abstractmethod
    def leave(self) -> None:
        """Be in host memory alone, where `host` may be written to then."""

    @abstractmethod
    def changed(self) -> None:
        """A kernel of the device wrote to them."""

    @abstractmethod
    def host(self) -> np.ndarray:
        """The values in host memory: brought there once, and not to be written to while the device has them."""


class Scratch(Held):
    """Room on a device that kernels fill themselves: nothing is copied there. On the host it is made when needed."""

    def __init__(self, size: int, dtype: Any) -> None:
        super().__init__(size, dtype)
        self._host: np.ndarray | None = None

    def count_unlike(self, none: Any) -> int:
        return int(np.count_nonzero(self.host() != none))

    def take(self, places: np.ndarray) -> np.ndarray:
        return self.host()[places]

    def leave(self) -> None:
        self.host()

    def changed(self) -> None:
        return None

    def host(self) -> np.ndarray:
        if self._host is None:
            self._host = np.empty(self.size, self.dtype)
        return self._host


def on_host(values: np.ndarray | Held) -> np.ndarray:
    """An array, or what a device holds of one, in host memory."""
    return values.host() if isinstance(values, Held) else values


def is_array(value: Any) -> bool:
    """Whether an argument of a kernel is an array of the host's or of a device's; else it is a number."""
    return isinstance(value, np.ndarray | Held)
