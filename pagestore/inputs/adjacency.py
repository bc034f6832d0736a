"""Adjacency lists as text: METIS (with DIMACS's 10th challenge) and plain lists `vertex neighbour neighbour ...`.

METIS: a line `vertices edges [format [weights]]`, then line k lists the neighbours of vertex k, from 1; format is three
digits, whether vertices have sizes, weights, and edges weights; `%` begins a comment, a blank line is a vertex without
neighbours. The graph is undirected, each edge stands at both ends and is yielded once, from its lower end.

Refused are lists that hold the number of their neighbours, which is no neighbour: GraphChi's, `vertex count neighbour
neighbour ...`, and NetworkX's multiline lists, `vertex count`, then a neighbour a line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.badlines import BadLines, LineProblem, quoted, shown
from pagestore.inputs.base import EdgeChunk, InputOptions
from pagestore.inputs.blocks import Block
from pagestore.inputs.columns import option_range
from pagestore.inputs.decimals import MINUS, MOST_DIGITS, PLUS, U0, U1, U9, digits_at, number_at
from pagestore.inputs.headers import CUT, REMEDY, Head, HeadReader, header_error, numbered_to
from pagestore.inputs.judge import BLANK_FIELD, LineRules, parse_vertex, parse_weight
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.lines import MAX_ID, NEW, ends_line, is_blank
from pagestore.inputs.linesource import Parsed, handed_on
from pagestore.inputs.signatures import COUNT
from pagestore.inputs.streams import ByteStream
from pagestore.jit import compiled
from pagestore.sizes import show_things

SAMPLE_BYTES = 1 << 16
LEAST_LISTS = 3  # fewer may be so by chance
OVERRIDE = "If these numbers are vertices, pass --format adjacency."
MOST_CONSTRAINTS = 1 << 20  # weights of a vertex
FIX = "Fix the line."
PADDED = re.compile(r"[+-]?0[0-9]{1,39}\Z")
ZERO = 48
SHORTEST_ENTRY = 2  # "1 ": bounds the entries of a block
MIX = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)]  # odd constants of xxHash


@compiled
def past_zeros(buf: np.ndarray, i: np.uint64) -> np.uint64:
    """The offset behind zeros ahead of a digit."""
    while buf[i] == ZERO and np.uint64(buf[i + U1]) - np.uint64(ZERO) <= U9:
        i += U1
    return i


@compiled
def parse_lists(
    buf: np.ndarray, size: np.uint64, headed: bool, skipped: int, weighted: bool, low: np.uint64, high: np.uint64,
    source: np.ndarray, target: np.ndarray, weight: np.ndarray, heads: np.ndarray, odd: np.ndarray,
) -> tuple:  # fmt: skip
    """Read the lists of buf[:size] (uint8, ends in a line feed; `%` and, when headed, `#` begin comments).

    headed: a line begins with its vertex, blank lines are nothing; else line k is vertex k (from 0, within this block)
    and a blank line a vertex without neighbours. skipped: numbers before the neighbours (vertex sizes and weights).
    Returns (entries, lines, lists, odd lists). source, target: uint64[]; weight: float64[] when weighted; heads:
    uint64[] the vertex of each list without entries, when headed; odd: int64[, 2], offset and number of each odd line.
    Numbers that need more than float64's exact digits make a line odd.
    """
    entries, lines, lists, odd_count, lonely = U0, 0, U0, U0, U0
    i = U0
    while i < size:
        start, first_entry = i, entries
        while is_blank(buf[i], 0):
            i += U1
        comment = buf[i] == 37 or (headed and buf[i] == 35)
        if comment or (headed and ends_line(buf, i)):
            while buf[i] != NEW:
                i += U1
            i += U1
            lines += 1
            continue
        field, good, vertex = 0, True, lists
        before = skipped + (1 if headed else 0)
        while good and not ends_line(buf, i):
            begin = i
            if weighted and field >= before and (field - before) % 2 == 1:
                i, value, hard = number_at(buf, i)
                good = i != begin and not hard
                weight[entries - U1] = value
            else:
                minus = buf[i] == MINUS
                if minus or buf[i] == PLUS:
                    i += U1
                begin = past_zeros(buf, i)
                good = not headed or begin == i
                i, number = digits_at(buf, begin)
                good = good and 0 < i - begin <= MOST_DIGITS and number <= MAX_ID and (not minus or number == U0)
                if field >= before:
                    good = good and low <= number and number <= high
                    source[entries], target[entries] = vertex, number
                    entries += U1
                elif headed and field == 0:
                    good = good and low <= number and number <= high
                    vertex = number
            good = good and (is_blank(buf[i], 0) or ends_line(buf, i))
            while is_blank(buf[i], 0):
                i += U1
            field += 1
        good = good and field >= before and (not weighted or (field - before) % 2 == 0)
        if not good:
            entries = first_entry
            odd[odd_count, 0], odd[odd_count, 1] = start, lines
            odd_count += U1
        elif headed and entries == first_entry:
            heads[lonely] = vertex
            lonely += U1
        while buf[i] != NEW:
            i += U1
        i += U1
        lines += 1
        lists += U1
    return entries, lines, lists, odd_count, lonely


@dataclass
class Lists(Parsed):
    """The lists of a block; sources of unheaded lists count from 0 within the block.

    lonely: vertices whose lists are empty. lists: the number of lists.
    """

    lonely: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    lists: int = 0


class AdjacencySource(LineFile):
    """Plain adjacency lists. A vertex alone on its line is a vertex too: see `vertex_ids`."""

    headed = True
    quoting = False
    skipped_numbers = 0
    weighted_lists = False

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self._lonely: list[np.ndarray] = []
        super().__init__(path, options, workdir, memory_bytes)
        self.block_bytes = max(self.block_bytes // 2, 1 << 21)  # an entry takes 2 bytes of text and 16 of arrays
        if self.headed and options.num_vertices is not None:
            self.vertices, self.id_base = options.num_vertices, options.id_base or 0

    def begin(self, stream: ByteStream) -> Head:
        if self.options.format is None:
            refuse_counted(stream)
        ids = option_range(self.options)
        return Head(LineRules(fields=0, low=ids.low, high_source=ids.high, limit=ids.limit), 1)

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
        chunk = EdgeChunk(source[:entries], target[:entries], weights)
        found = Lists(chunk, lines, 0, lonely=lonely[:alone], lists=lists)
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
                    self._refuse_padded(text, column)
                    parse_vertex(text, column, self.rules, self.rules.high_source)
                elif not (text.isascii() and text.isdigit()):
                    return LineProblem(column, f"vertex weight {quoted(text)} is no integer from 0", FIX)
        except LineProblem as problem:
            problem.remedy = FIX if not self.headed else problem.remedy
            return problem
        if len(fields) < before:
            return LineProblem(len(line) + 1, f"{len(fields)} numbers; the header promises {before} a vertex", FIX)
        if self.weighted_lists and (len(fields) - before) % 2:
            return LineProblem(len(line) + 1, "the last neighbour has no weight; the header promises weights", FIX)
        return LineProblem(1, f"{quoted(line)} holds a number of more digits than can be read exactly", FIX)

    def _refuse_padded(self, text: str, column: int) -> None:
        """LineProblem for an ID with zeros ahead, where no header says that IDs are numbers."""
        if self.headed and PADDED.match(text):
            edges = "awk '{for (i = 2; i <= NF; i++) print $1, $i}' " + f"{shlex.quote(self.name)} > edges.txt"
            raise LineProblem(
                column,
                f"vertex ID {shown(text)} is {int(text)} as a number, and may be a name; lists are of numbers without "
                "zeros ahead",
                f"Make an edge list of it first: {edges}; convert that with --string-ids or --number-ids.",
            )

    def chunks(self) -> Iterator[EdgeChunk]:
        self._lonely = []
        edges = 0
        for block, found in self.blocks():
            if not self.replayable:
                self._lonely.append(found.lonely.copy())
            edges += len(found.chunk) + len(found.lonely)
            yield from handed_on(self._stream, block.end, found.chunk, self.options.chunk_edges)
        self.check(edges)

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """Vertices without neighbours; of a pipe only after `chunks()`."""
        if not self.replayable:
            return (ids.view(np.int64) for ids in self._lonely)
        return (found.lonely.view(np.int64) for _, found in self.blocks())


class MetisSource(AdjacencySource):
    """A METIS graph; `vertices` as its header says, `id_base` 1, undirected."""

    headed = False

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__(path, options, workdir, memory_bytes)
        self.directed, self.weighted = False, self.weighted_lists and options.weights
        # a list left out would break the count of vertices and the symmetry, so bad lines always stop the reading
        self.bad = BadLines("fail", None, self.skipped)

    def begin(self, stream: ByteStream) -> Head:
        head, line = HeadReader(stream), b"%"
        while line.lstrip().startswith(b"%") or not line.strip():
            line = head.next("its header, 'vertices edges [format]'")
        numbers = head.integers(line, 2, "vertices, edges, format", most=4)
        self._count, self._edges = numbers[:2]
        kind = line.decode().split()[2].zfill(3) if len(numbers) > 2 else "000"  # integers() found numbers alone
        if len(kind) != 3 or set(kind) - {"0", "1"}:
            raise head.error(f"format {kind!r} is unknown; it is three digits of 0 and 1")
        sized, valued, self.weighted_lists = (digit == "1" for digit in kind)
        constraints = numbers[3] if len(numbers) > 3 else 1
        if constraints > MOST_CONSTRAINTS:
            raise head.error(f"{constraints} weights a vertex are more than {MOST_CONSTRAINTS}")
        self.skipped_numbers = sized + (constraints if valued else 0)
        return Head(LineRules(fields=0, **numbered_to(self._count)), head.number + 1, self._count, line=head.number)

    def chunks(self) -> Iterator[EdgeChunk]:
        lists = entries = loops = 0
        balance = np.uint64(0)  # hashes of edges seen from below, less those seen from above
        upward = downward = 0
        for block, found in self.blocks():
            source, target = found.chunk.source + np.uint64(lists + 1), found.chunk.target
            weight = found.chunk.weight
            if found.lists and lists + found.lists > self._count and len(source) and source[-1] > self._count:
                raise self._disagrees(f"the header promises {self._count} vertices; more lines follow")
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
            yield from handed_on(self._stream, block.end, chunk, self.options.chunk_edges)
        self._check_lists(lists, upward, downward, loops, int(balance))

    def _check_lists(self, lists: int, upward: int, downward: int, loops: int, balance: int) -> None:
        if lists < self._count:
            follow = f"{show_things(lists, 'line')} follow{'s' if lists == 1 else ''}"
            raise self._disagrees(f"the header promises {self._count} vertices; {follow}", CUT)
        if upward != downward or balance:
            reason = f"{upward} edges stand at their lower ends, {downward} at their upper ends"
            if upward == downward:
                reason = "an edge stands at one of its ends only, or with two weights"
            raise self._disagrees(f"the lists disagree: {reason}", "Repeat every edge in the lists of both its ends.")
        # self-loops are not of METIS; files that have them count them in one way or the other
        if self._edges not in (upward + loops, upward + (loops + 1) // 2):
            found = f"the header promises {self._edges} edges; the lists hold {upward + loops}"
            raise self._disagrees(found, CUT)

    def _disagrees(self, reason: str, remedy: str = REMEDY) -> InputError:
        return header_error(self.name, self.head.line, reason, remedy)

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        return None


def _hashes(low: np.ndarray, high: np.ndarray, weight: np.ndarray | None) -> np.uint64:
    """Sum modulo 2^64 of a hash of each edge: equal for equal multisets of edges."""
    mixed = (low * MIX[0]) ^ (high * MIX[1])
    if weight is not None:
        mixed ^= np.ascontiguousarray(weight).view(np.uint64) * MIX[2]
    mixed ^= mixed >> np.uint64(29)
    return np.uint64((mixed * MIX[2]).sum(dtype=np.uint64))


def refuse_counted(stream: ByteStream) -> None:
    """InputError where the first lists of `stream`, of which nothing is consumed, count their neighbours."""
    head = stream.peek(SAMPLE_BYTES)
    lines = head.split(b"\n")
    whole = len(head) < SAMPLE_BYTES
    rows = [line.split() for line in (lines if whole else lines[:-1]) if line.strip() and not line.startswith(b"#")]
    if not all(COUNT.match(row[1].decode("latin-1")) for row in rows if len(row) > 1):
        return
    path = shlex.quote(stream.name)
    if len(rows) >= LEAST_LISTS and all(len(row) > 1 and int(row[1]) == len(row) - 2 for row in rows):
        raise InputError(
            f"{stream.name}: number 2 of each line counts the neighbours behind it, as GraphChi writes lists. Leave it "
            f"out: awk '{{$2 = \"\"; print}}' {path} > lists.adj. {OVERRIDE}"
        )
    if _in_lines(rows, whole):
        raise InputError(
            f"{stream.name}: lines of two numbers count the neighbours below them, as NetworkX writes multiline lists. "
            f"Make an edge list of it first: python3 -c 'import networkx as nx; nx.write_edgelist("
            f'nx.read_multiline_adjlist("{stream.name}"), "edges.tsv", delimiter="\\t")\'. {OVERRIDE}'
        )


def _in_lines(rows: Sequence[Sequence[bytes]], whole: bool) -> bool:
    """Whether rows are `vertex count`, each above as many rows of a neighbour (and of its data)."""
    at = lists = neighbours = 0
    while at < len(rows):
        if len(rows[at]) != 2:
            return False
        count = int(rows[at][1])
        below = rows[at + 1 : at + 1 + count]
        if any(len(row) != 1 for row in below) or (len(below) < count and whole):
            return False
        lists, neighbours, at = lists + 1, neighbours + count, at + 1 + count
    return lists >= LEAST_LISTS and neighbours > 0
