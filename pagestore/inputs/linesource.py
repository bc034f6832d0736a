"""Edges from blocks of lines: compiled parsing in threads, bad lines judged one by one, everything in input order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pagestore.inputs.badlines import BadLines, LineProblem
from pagestore.inputs.base import EdgeChunk, split_chunk
from pagestore.inputs.blocks import Block, LongLineError, line_blocks, parse_in_order
from pagestore.inputs.decimals import hard_numbers
from pagestore.inputs.judge import Edge, LineRules, judge
from pagestore.inputs.lines import SHORTEST_HARD_LINE, gather_names, parse_lines, shortest_line
from pagestore.inputs.signatures import UTF8_MARK
from pagestore.inputs.streams import ByteStream

if TYPE_CHECKING:
    import pyarrow  # 25 MiB, loaded for names only


@dataclass(frozen=True)
class NameChunk:
    """Edges between names: `source`, `target` Arrow large_string arrays, `weight` float64[n] or None."""

    source: pyarrow.Array
    target: pyarrow.Array
    weight: np.ndarray | None

    def __len__(self) -> int:
        return len(self.source)


@dataclass
class Parsed:
    """What one block holds: edges, how many lines and comments, and bad lines as (line from 0, problem, text).

    filtered: lines that --where left out.
    """

    chunk: EdgeChunk | NameChunk
    lines: int
    comments: int
    problems: list[tuple[int, LineProblem, bytes]] = field(default_factory=list)
    filtered: int = 0


Found = TypeVar("Found", bound=Parsed)


def parse_block(block: Block, rules: LineRules, first_problem_only: bool) -> Parsed:
    """Parse one block by the kernels, odd lines by `judge`; a block with impossible values line by line."""
    capacity = block.size // shortest_line(rules.fields) + 1  # the kernels trust this bound
    weight = np.empty(capacity if rules.weight is not None else 0)
    odd = np.empty((block.size // 2 + 1, 2), dtype=np.int64)
    hard = np.empty((block.size // SHORTEST_HARD_LINE + 1 if rules.weight is not None else 0, 3), dtype=np.int64)
    size = np.uint64(block.size)
    source, target = np.empty(capacity, dtype=np.uint64), np.empty(capacity, dtype=np.uint64)
    ends = np.empty((capacity, 2), dtype=np.uint64) if rules.strings else None
    found = parse_lines(block.data, size, rules.array(), source, target, ends, weight, odd, hard)
    edges, lines, comments, odd_count, hard_count = (int(n) for n in found)
    if hard_count:
        hard = hard[:hard_count]
        weight[hard[:, 0]] = hard_numbers(block.data, hard[:, 1], hard[:, 2])
    weights = weight[:edges] if rules.weight is not None else None
    fit = _weights_fit(weights, rules) and (rules.loops or not (source[:edges] == target[:edges]).any())
    fit = fit and (rules.kind is None or _kinds_fit(block, rules.kind_words, edges))
    if not fit or (rules.strings and not (_is_text(block) and _is_one_file(block, rules))):
        parsed = Parsed(_chunk_of([], rules), lines, comments)
        _judge_lines(block, _all_lines(block), rules, parsed, first_problem_only)
        return parsed
    chunk: EdgeChunk | NameChunk
    if ends is not None:
        data = block.whole()
        near, far = (string_array(*gather_names(data, first[:edges], ends[:edges, end]))
                     for end, first in enumerate((source, target)))  # fmt: skip
        chunk = NameChunk(near, far, weights)
    else:
        chunk = EdgeChunk(source[:edges], target[:edges], weights)
    parsed = Parsed(chunk, lines, comments)
    if odd_count:
        _judge_lines(block, _odd_lines(block, odd[:odd_count]), rules, parsed, first_problem_only)
    return parsed


def _weights_fit(weights: np.ndarray | None, rules: LineRules) -> bool:
    if weights is None or len(weights) == 0:
        return True
    if rules.integer_weights is not None:
        least, greatest, _ = rules.integer_weights
        return bool(weights.min() >= least and weights.max() <= greatest and (weights == np.rint(weights)).all())
    return bool(np.isfinite(weights).all())


def _kinds_fit(block: Block, words: tuple[str, ...], edges: int) -> bool:
    """Whether a block has one word of direction an edge, the right one: at least if True."""
    text = block.text().lower()
    undirected, either = text.count(b"undirected"), text.count(b"directed")
    return (undirected, either) == ((edges, edges) if words == ("undirected",) else (0, edges))


def _is_text(block: Block) -> bool:
    """UTF-8 without NUL bytes."""
    lines = block.data[: block.size]
    if not lines.all():
        return False
    if not (lines & 0x80).any():
        return True
    try:
        bytes(lines).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_one_file(block: Block, rules: LineRules) -> bool:
    """Whether no line is the header's again, or begins with a byte order mark."""
    lines = block.data[: block.size]
    for mark in filter(None, (UTF8_MARK, rules.header)):
        # in place: a copy of the block would take a fifth of the time of reading it
        if lines[: len(mark)].tobytes() == mark or re.search(b"\n" + re.escape(mark), lines.data):
            return False
    return True


def string_array(offsets: np.ndarray, data: np.ndarray) -> pyarrow.Array:
    """Arrow large_string array over offsets int64[n + 1] and UTF-8 bytes uint8[], without a copy."""
    import pyarrow

    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(offsets) - 1, buffers)


def _odd_lines(block: Block, odd: np.ndarray) -> Iterator[tuple[int, int, bytes]]:
    """(offset, number, text) of lines whose offset and number are given."""
    for begin, number in odd.tolist():
        end, step = begin, 256
        while (at := block.data[end : end + step].tobytes().find(b"\n")) < 0:
            end += step
        yield begin, number, block.data[begin : end + at].tobytes()


def _all_lines(block: Block) -> Iterator[tuple[int, int, bytes]]:
    begin = 0
    for number, text in enumerate(block.text().split(b"\n")[:-1]):
        yield begin, number, text
        begin += len(text) + 1


def _judge_lines(
    block: Block, lines: Iterator[tuple[int, int, bytes]], rules: LineRules, parsed: Parsed, first_problem_only: bool
) -> None:
    """Judge lines one by one and add their edges to `parsed`, behind the block's other edges."""
    edges: list[Edge] = []
    for begin, number, text in lines:
        line, before = block.told(begin, text)
        try:
            edge = judge(line, rules)
        except LineProblem as problem:
            parsed.problems.append((number + before, problem, line))
            if first_problem_only:
                break
            continue
        if edge is not None:
            edges.append(edge)
    if edges:
        parsed.chunk = _joined(parsed.chunk, _chunk_of(edges, rules))


def _chunk_of(edges: list[Edge], rules: LineRules) -> EdgeChunk | NameChunk:
    weight = None if rules.weight is None else np.array([edge.weight for edge in edges], dtype=np.float64)
    source, target = [edge.source for edge in edges], [edge.target for edge in edges]
    if rules.strings:
        import pyarrow

        kind = pyarrow.large_string()
        return NameChunk(pyarrow.array(source, type=kind), pyarrow.array(target, type=kind), weight)
    return EdgeChunk(np.array(source, dtype=np.uint64), np.array(target, dtype=np.uint64), weight)


def _joined(chunk: EdgeChunk | NameChunk, more: EdgeChunk | NameChunk) -> EdgeChunk | NameChunk:
    if isinstance(chunk, EdgeChunk) and isinstance(more, EdgeChunk):
        return EdgeChunk.joined([chunk, more])
    import pyarrow

    source = pyarrow.concat_arrays([chunk.source, more.source])
    target = pyarrow.concat_arrays([chunk.target, more.target])
    weights = [part.weight for part in (chunk, more) if part.weight is not None]
    return NameChunk(source, target, np.concatenate(weights) if weights else None)


def parsed_blocks(
    stream: ByteStream, parse: Callable[[Block], Found], quoting: LineRules | None, first_line: int, bad: BadLines,
    threads: int, size: int,
) -> Iterator[tuple[Block, Found]]:  # fmt: skip
    """Parse what is left of `stream` in blocks of `size` bytes; `first_line` numbers its first line.

    quoting: the rules of lines whose fields may be quoted. A block is written over once the next one is asked for; what
    `parse` makes of it must not be a view of its bytes. Bad lines go to `bad` in order, which raises InputError
    unless they are to be skipped.
    """
    line, spare = first_line, SimpleQueue[np.ndarray]()
    rules = None if quoting is None else quoting.array()
    try:
        for block, parsed in parse_in_order(line_blocks(stream, size, rules, spare), parse, threads):
            for number, problem, text in parsed.problems:
                bad.report(stream.name, line + number, problem, text)
            line += parsed.lines + len(block.breaks)
            bad.pass_comments(parsed.comments)
            bad.pass_rows(parsed.filtered)
            yield block, parsed
            spare.put(block.data)
    except LongLineError as error:
        raise error.located(stream.name, line) from None


def handed_on(stream: ByteStream, end: int, chunk: EdgeChunk, chunk_edges: int) -> Iterator[EdgeChunk]:
    """`chunk`, of a block that ends at stored byte `end`, at most `chunk_edges` at a time; `stream.reached` follows."""
    begin, edges = stream.reached, 0
    for part in split_chunk(chunk, chunk_edges):
        edges += len(part)
        stream.reached = begin + (end - begin) * edges // len(chunk)
        yield part
    stream.reached = end
