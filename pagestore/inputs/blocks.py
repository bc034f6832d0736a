"""Blocks of whole lines from a byte stream, read ahead by a thread, parsed by a few threads, handed on in order.

Encoding: a `Block` is a uint8 array that ends in a line feed (one is added when the last line lacks it) followed by
PAD zero bytes. Memory: at most threads + READ_AHEAD + 1 blocks and their parsed arrays live at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from pagestore.cores import in_order
from pagestore.errors import InputError
from pagestore.inputs.lines import Rule
from pagestore.inputs.quotes import HIDDEN, MOST_QUOTED, find_breaks
from pagestore.inputs.streams import ByteStream
from pagestore.io import large_empty

PAD = 16
MIN_BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 20, 8 << 20
READ_AHEAD = 2  # blocks that wait between the reading thread and the parsers
LONGEST_LINE_BYTES = 1 << 20
LINE_FEED = 10

Result = TypeVar("Result")


def block_bytes(memory_bytes: int, threads: int) -> int:
    """Block size with which all blocks and their parsed edges (about 6 times a block) take a quarter of the memory."""
    share = memory_bytes // 4 // (6 * (threads + READ_AHEAD + 1))
    return int(min(max(share, MIN_BLOCK_BYTES), MAX_BLOCK_BYTES))


class LongLineError(Exception):
    """A line of more than `longest` bytes, `lines` whole ones behind the last block that was read."""

    def __init__(self, longest: int, lines: int) -> None:
        super().__init__(longest, lines)
        self.longest, self.lines = longest, lines

    def located(self, name: str, first_line: int) -> InputError:
        """What to tell the user; `first_line` is the number of the line behind the last block."""
        return InputError(
            f"{name}:{first_line + self.lines}:1: the line is longer than {self.longest} bytes; the lines of an edge "
            f"list end in a line feed. Check that this is a text file of edges."
        )


@dataclass(frozen=True)
class Block:
    """Whole lines: `data` uint8[size + PAD], of which `size` are lines; `offset` bytes of the input came before.

    end: bytes of the stored (compressed) file up to the last of these lines; exact unless it is compressed.
    breaks: int64[] places of line feeds in quoted fields, where `data` has HIDDEN.
    said: the lines as the file has them, at the same places; None where `data` was not rewritten for the kernels.
    """

    data: np.ndarray
    size: int
    offset: int
    end: int = 0
    breaks: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    said: np.ndarray | None = None

    def text(self) -> bytes:
        return self.data[: self.size].tobytes()

    def told(self, begin: int, line: bytes) -> tuple[bytes, int]:
        """The line at `begin` as the file has it, and how many line feeds of quoted fields stand before it.

        A line that was made blank stays blank: it is left out.
        """
        if self.said is not None and line.strip(b" "):
            line = self.said[begin : begin + len(line)].tobytes()
        first, last = np.searchsorted(self.breaks, (begin, begin + len(line)))
        if first == last:
            return line, int(first)
        told = bytearray(line)
        for at in self.breaks[first:last].tolist():
            told[at - begin] = LINE_FEED
        return bytes(told), int(first)

    def whole(self) -> np.ndarray:
        """`data` with its line feeds as they were."""
        if not len(self.breaks):
            return self.data
        data = self.data.copy()
        data[self.breaks] = LINE_FEED
        return data


def line_blocks(
    stream: ByteStream, size: int, rules: np.ndarray | None = None, spare: queue.SimpleQueue | None = None
) -> Iterator[Block]:
    """Cut what is left of `stream` at line ends; raises LongLineError for one of more than LONGEST_LINE_BYTES.

    rules: of the lines (LineRules.array), where fields may be quoted. spare: `data` of blocks that nobody reads any
    longer, to be used again: fresh memory takes as long as the reading.
    """
    carry = np.empty(0, dtype=np.uint8)
    offset, begin = 0, stream.given
    while True:
        try:
            data = large_empty(size + PAD, np.uint8) if spare is None else spare.get_nowait()
        except queue.Empty:
            data = large_empty(size + PAD, np.uint8)
        data[: len(carry)] = carry
        filled, ended = _fill(stream, data, len(carry), size - 1)
        if filled == 0:
            return
        if ended:
            if data[filled - 1] != LINE_FEED:
                data[filled] = LINE_FEED
                filled += 1
        breaks, whole = _hide_breaks(data, filled, rules, ended, min(MOST_QUOTED, size // 4))
        if ended:
            cut = filled
        else:
            longest = min(LONGEST_LINE_BYTES, size // 2)
            cut = min(_last_line_end(data, filled, longest), whole)
            if cut == 0:
                raise LongLineError(longest, int((data[:filled] == LINE_FEED).sum()))
            data[breaks[breaks >= cut]] = LINE_FEED
            breaks = breaks[breaks < cut]
        carry = data[cut:filled].copy()
        data[cut : cut + PAD] = 0
        end = stream.position() if ended else stream.stored_before(begin + offset + cut)
        yield Block(data, cut, offset, end, breaks)
        offset += cut
        if ended:
            return


def _hide_breaks(
    data: np.ndarray, filled: int, rules: np.ndarray | None, ended: bool, limit: int
) -> tuple[np.ndarray, int]:
    """Put HIDDEN for the line feeds in quoted fields of data[:filled]: their places, and where a line is not whole."""
    if rules is None:
        return np.empty(0, np.int64), filled
    comments = int(rules[Rule.COMMENT]), int(rules[Rule.COMMENT2])
    breaks, whole = find_breaks(data, filled, int(rules[Rule.SEPARATOR]), comments, ended, limit)
    data[breaks] = HIDDEN
    return breaks, whole


def _fill(stream: ByteStream, data: np.ndarray, filled: int, limit: int) -> tuple[int, bool]:
    while filled < limit:
        count = stream.read_into(data[filled:limit])
        if count == 0:
            return filled, True
        filled += count
    return filled, False


def _last_line_end(data: np.ndarray, filled: int, longest: int) -> int:
    """One past the last line feed of data[:filled], 0 when there is none in its last `longest` + 1 bytes."""
    low = max(0, filled - longest - 1)
    tail = data[low:filled].tobytes()
    return low + tail.rfind(b"\n") + 1 if b"\n" in tail else 0


class ReadAhead:
    """Runs an iterator of blocks in a thread of its own, at most READ_AHEAD blocks ahead of the consumer."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._queue: queue.Queue[Block | BaseException | None] = queue.Queue(READ_AHEAD)
        self._stopped = threading.Event()
        self.failed: BaseException | None = None  # why reading ended early
        # a daemon: a read of stdin that never returns must not keep the process alive
        threading.Thread(target=self._run, args=(blocks,), name="read-ahead", daemon=True).start()

    def _run(self, blocks: Iterator[Block]) -> None:
        last: BaseException | None = None
        try:
            for block in blocks:
                if not self._put(block):
                    return
        except BaseException as error:
            last = error  # raised again in the consumer
        self._put(last)

    def _put(self, item: Block | BaseException | None) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def blocks(self) -> Iterator[Block]:
        """The blocks, until the input ends or reading fails."""
        while isinstance(item := self._queue.get(), Block):
            yield item
        self.failed = item

    def stop(self) -> None:
        """Nobody takes further blocks."""
        self._stopped.set()


def parse_in_order(
    blocks: Iterator[Block], parse: Callable[[Block], Result], threads: int
) -> Iterator[tuple[Block, Result]]:
    """Yield (block, parse(block)) in the order of `blocks`, `threads` at a time; `parse` should release the GIL."""
    ahead = ReadAhead(blocks)
    try:
        yield from in_order(ahead.blocks(), parse, threads)
    finally:
        ahead.stop()
    if ahead.failed is not None:
        raise ahead.failed  # after the edges of the last whole block
