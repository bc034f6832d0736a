"""Adjacency lists as text: METIS (with DIMACS's 10th challenge) and plain lists `vertex neighbour neighbour ...`.

METIS: a line `vertices edges [format [weights]]`, then line k lists the neighbours of vertex k, from 1; format is three
digits, whether vertices have sizes, weights, and edges weights; `%` begins a comment, a blank line is a vertex without
neighbours. The graph is undirected, each edge stands at both ends and is yielded once, from its lower end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pagestore.inputs.badlines import BadLines, LineProblem, shown
from pagestore.inputs.base import EdgeChunk, InputOptions
from pagestore.inputs.blocks import Block, LongLineError, line_blocks, parse_in_order
from pagestore.inputs.columns import option_range
from pagestore.inputs.countedlists import refuse_counted
from pagestore.inputs.headers import header_error, integers, promised_vertices
from pagestore.inputs.judge import BLANK_FIELD, LineRules, parse_vertex, parse_weight
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.linesource import handed_on, read_line
from pagestore.inputs.listlines import SHORTEST_ENTRY, parse_lists
from pagestore.inputs.streams import ByteStream

MOST_CONSTRAINTS = 1 << 20  # weights of a vertex
FIX = "Fix the line."
MIX = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)]  # odd constants of xxHash


@dataclass
class Lists:
    """What a block of lists holds; sources of unheaded lists count from 0 within the block.

    end: `Block.end`.
    """

    chunk: EdgeChunk
    lonely: np.ndarray
    lines: int
    lists: int
    problems: list[tuple[int, LineProblem, bytes]] = field(default_factory=list)
    end: int = 0


class AdjacencySource(LineFile):
    """Plain adjacency lists. A vertex alone on its line is a vertex too: see `vertex_ids`."""

    headed = True
    skipped_numbers = 0
    weighted_lists = False

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self._lonely: list[np.ndarray] = []
        super().__init__(path, options, workdir, memory_bytes)
        self.block_bytes = max(self.block_bytes // 2, 1 << 21)  # an entry takes 2 bytes of text and 16 of arrays
        if self.headed and options.num_vertices is not None:
            self.vertices, self.id_base = options.num_vertices, options.id_base or 0

    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        if self.options.format is None:
            refuse_counted(stream)
        ids = option_range(self.options)
        return LineRules(fields=0, low=ids.low, high_source=ids.high, limit=ids.limit), 1

    def parse(self, block: Block) -> Lists:
        """Read the lists of a block, odd ones again by `judge_list`."""
        capacity = block.size // SHORTEST_ENTRY + 1
        source, target = np.empty(capacity, dtype=np.uint64), np.empty(capacity, dtype=np.uint64)
        weight = np.empty(capacity if self.weighted_lists else 0)
        lonely = np.empty(capacity if self.headed else 0, dtype=np.uint64)
        odd = np.empty((block.size + 1, 2), dtype=np.int64)  # even blank lines may be odd
        low, high, _ = self.rules.bounds
        entries, lines, lists, odd_count, alone = (
            int(n)
            for n in parse_lists(
                block.data, np.uint64(block.size), self.headed, self.skipped_numbers, self.weighted_lists,
                np.uint64(low), np.uint64(high), source, target, weight, lonely, odd,
            )
        )  # fmt: skip
        weights = weight[:entries] if self.weighted_lists else None
        found = Lists(EdgeChunk(source[:entries], target[:entries], weights), lonely[:alone], lines, lists)
        for begin, number in odd[:odd_count].tolist():
            line = block.data[begin : block.size].tobytes().split(b"\n", 1)[0]
            found.problems.append((number, self.judge_list(line), line))
            if not self.bad.skips:
                break
        return found

    def judge_list(self, line: bytes) -> LineProblem:
        """What is wrong with a list that the kernel did not take."""
        if (nul := line.find(b"\0")) >= 0:
            return LineProblem(nul + 1, "a NUL byte; text holds none", FIX)
        fields = [(m.start() + 1, m.group().decode("utf-8", "replace")) for m in BLANK_FIELD.finditer(line.rstrip())]
        before = self.skipped_numbers + self.headed
        try:
            for at, (column, text) in enumerate(fields):
                if self.weighted_lists and at >= before and (at - before) % 2:
                    parse_weight(text, column, self.rules)
                elif at >= before or (self.headed and at == 0):
                    parse_vertex(text, column, self.rules, self.rules.high_source)
                elif not (text.isascii() and text.isdigit()):
                    return LineProblem(column, f"vertex weight {shown(text)!r} is no integer from 0", FIX)
        except LineProblem as problem:
            problem.remedy = FIX if not self.headed else problem.remedy
            return problem
        if len(fields) < before:
            return LineProblem(len(line) + 1, f"{len(fields)} numbers; the header promises {before} a vertex", FIX)
        if self.weighted_lists and (len(fields) - before) % 2:
            return LineProblem(len(line) + 1, "the last neighbour has no weight; the header promises weights", FIX)
        return LineProblem(1, f"{shown(line)!r} holds a number of more digits than can be read exactly", FIX)

    def lists(self) -> Iterator[Lists]:
        """All blocks in order; bad lines go to `bad`."""
        stream = self.open_lines()
        line = self.first_line
        try:
            for block, found in parse_in_order(line_blocks(stream, self.block_bytes), self.parse, self.options.threads):
                for number, problem, text in found.problems:
                    self.bad.report(stream.name, line + number, problem, text)
                line += found.lines
                found.end = block.end
                yield found
        except LongLineError as error:
            raise error.located(stream.name, line) from None
        finally:
            stream.close()
            if self.owns_bad:
                self.bad.close()

    def chunks(self) -> Iterator[EdgeChunk]:
        self._lonely = []
        edges = 0
        for found in self.lists():
            if not self.replayable:
                self._lonely.append(found.lonely.copy())
            edges += len(found.chunk) + len(found.lonely)
            yield from handed_on(self._stream, found.end, found.chunk, self.options.chunk_edges)
        self.check_some(edges)

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """Vertices without neighbours; of a pipe only after `chunks()`."""
        if not self.replayable:
            return (ids.view(np.int64) for ids in self._lonely)
        return (found.lonely.view(np.int64) for found in self.lists())


class MetisSource(AdjacencySource):
    """A METIS graph; `vertices` as its header says, `id_base` 1, undirected."""

    headed = False

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self.id_base = 1
        super().__init__(path, options, workdir, memory_bytes)
        self.vertices, self.directed = promised_vertices(self.name, self._count, options), False
        self.weighted = self.weighted_lists and options.weights
        # a list left out would break the count of vertices and the symmetry, so bad lines always stop the reading
        self.bad = BadLines("fail", workdir / "skipped_lines.txt", self.skipped)

    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        number, line = 0, b"%"
        while line.lstrip().startswith(b"%") or not line.strip():
            number += 1
            following = read_line(stream)
            if following is None:
                raise header_error(stream.name, number, "the file ends before its header, 'vertices edges [format]'")
            line = following
        numbers = integers(stream.name, number, line, 2, "vertices, edges, format", most=4)
        self._count, self._edges, self._line = numbers[0], numbers[1], number
        kind = line.decode().split()[2].zfill(3) if len(numbers) > 2 else "000"  # integers() found numbers alone
        if len(kind) != 3 or set(kind) - {"0", "1"}:
            raise header_error(stream.name, number, f"format {kind!r} is unknown; it is three digits of 0 and 1")
        sized, valued, self.weighted_lists = (digit == "1" for digit in kind)
        constraints = numbers[3] if len(numbers) > 3 else 1
        if constraints > MOST_CONSTRAINTS:
            raise header_error(stream.name, number, f"{constraints} weights a vertex are more than {MOST_CONSTRAINTS}")
        self.skipped_numbers = sized + (constraints if valued else 0)
        limit = f"the header lets IDs run from 1 to {self._count}"
        return LineRules(fields=0, low=1, high_source=self._count, limit=limit), number + 1

    def chunks(self) -> Iterator[EdgeChunk]:
        lists = entries = loops = 0
        balance = np.uint64(0)  # hashes of edges seen from below, less those seen from above
        upward = downward = 0
        for found in self.lists():
            source, target = found.chunk.source + np.uint64(lists + 1), found.chunk.target
            weight = found.chunk.weight
            if found.lists and lists + found.lists > self._count and len(source) and source[-1] > self._count:
                raise header_error(
                    self.name, self._line, f"the header promises {self._count} vertices; more lines follow"
                )
            lists += found.lists
            entries += len(source)
            up, down = source < target, source > target
            upward, downward = upward + int(up.sum()), downward + int(down.sum())
            loops = entries - upward - downward
            with np.errstate(over="ignore"):
                balance += _hashes(source[up], target[up], None if weight is None else weight[up])
                balance -= _hashes(target[down], source[down], None if weight is None else weight[down])
            once = ~down
            kept = None if weight is None or not self.weighted else weight[once]
            chunk = EdgeChunk(source[once], target[once], kept)
            yield from handed_on(self._stream, found.end, chunk, self.options.chunk_edges)
        self._check(lists, upward, downward, loops, int(balance))

    def _check(self, lists: int, upward: int, downward: int, loops: int, balance: int) -> None:
        cut = "The file was cut or damaged: get it again."
        if lists < self._count:
            found = f"the header promises {self._count} vertices; {lists} lines follow"
            raise header_error(self.name, self._line, found, cut)
        if upward != downward or balance:
            reason = f"{upward} edges stand at their lower ends, {downward} at their upper ends"
            if upward == downward:
                reason = "an edge stands at one of its ends only, or with two weights"
            raise header_error(
                self.name,
                self._line,
                f"the lists disagree: {reason}",
                "Repeat every edge in the lists of both its ends.",
            )
        # self-loops are not of METIS; files that have them count them in one way or the other
        if self._edges not in (upward + loops, upward + (loops + 1) // 2):
            found = f"the header promises {self._edges} edges; the lists hold {upward + loops}"
            raise header_error(self.name, self._line, found, cut)

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        return None


def _hashes(low: np.ndarray, high: np.ndarray, weight: np.ndarray | None) -> np.uint64:
    """Sum modulo 2^64 of a hash of each edge: equal for equal multisets of edges."""
    mixed = (low * MIX[0]) ^ (high * MIX[1])
    if weight is not None:
        mixed ^= np.ascontiguousarray(weight).view(np.uint64) * MIX[2]
    mixed ^= mixed >> np.uint64(29)
    return np.uint64((mixed * MIX[2]).sum(dtype=np.uint64))
