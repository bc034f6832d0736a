"""Fuzz targets about lines of text: edge lists, headers and lists of vertices, each held against a slow second reading.

An input of a target begins with option bytes (`Drawn` takes them), so that options are fuzzed as bytes are. The rest is
the file, which is read from memory, in blocks of 64 bytes where an option says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from pagestore.inputs import InputOptions, linesource
from pagestore.inputs.adjacency import AdjacencySource, MetisSource
from pagestore.inputs.badlines import LineProblem
from pagestore.inputs.blocks import PAD, Block
from pagestore.inputs.dimacs import DimacsSource
from pagestore.inputs.judge import LineRules, judge
from pagestore.inputs.ldbc import VertexFile
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.mtx import MatrixMarketSource
from pagestore.inputs.text import TextSource
from pagestore.inputs.tntp import TntpSource
from tests.fuzz.targets import LONGEST, Drawn, Target, TextStream, Wrong, refusal, work_folder
from tests.torture.inputs import HANDMADE, TEXTS

MEMORY = 1 << 24
LEAST_BLOCK = 64  # bytes: lines of more than 32 are then refused
WHOLE_BLOCK = 4 * LONGEST  # holds any input: blocks of 1 MiB take longer to come by than to parse
VERTICES = (None, None, None, 0, 1, 9, 50, (1 << 63) - 1)
WEIGHT_COLUMNS = (None, None, None, 1, 3, 4, "weight", "length")
KINDS = ("text", "csv", "tsv", "el", "wel")
AT_THE_END = re.compile(  # refusals of files whose edges were all handed on
    r"the header promises \d+ (entries|edges|links|vertices; \d+ lines)|occurs twice|the lists disagree"
)
PLAIN_LIST = re.compile(rb"[ \t]*(?:\d{1,18}[ \t]+)*\d{1,18}[ \t]*|[ \t]*")


def in_order(blocks: Iterator[Any], parse: Callable[[Any], Any], threads: int) -> Iterator[tuple[Any, Any]]:
    """`blocks.parse_in_order` without its threads, which take most of the time of a small file."""
    return ((block, parse(block)) for block in blocks)


def drawn_options(drawn: Drawn, names: bool) -> InputOptions:
    """Options that a user may pass; UsageError for those that contradict each other."""
    return options_of(drawn.byte(), drawn.byte(), names)


@cache
def options_of(bits: int, more: int, names: bool) -> InputOptions:
    """Made once for each two bytes."""
    vertices = VERTICES[bits >> 3 & 7]
    return InputOptions(
        bad_lines="skip" if bits & 1 else "fail", weights=not bits & 2, string_ids=True if names and bits & 4 else None,
        num_vertices=vertices, id_base=more & 1 if vertices is not None and more & 2 else None,
        weight_column=WEIGHT_COLUMNS[more >> 2 & 7] if not bits & 2 else None,
        header=(None, None, True, False)[more >> 5 & 3] if names else None, threads=1,
        skipped_path=work_folder() / "skipped_lines.txt",
    )  # fmt: skip


def opened(make: Callable[..., LineFile], drawn: Drawn, names: bool = False) -> LineFile:
    """The reader of a drawn text."""
    options, pieces = drawn_options(drawn, names), drawn.byte()
    kind = KINDS[pieces >> 4 & 7] if names and pieces >> 4 & 7 < len(KINDS) else "text"
    stream = TextStream(drawn.rest(), f"a.{kind}", step=7 if pieces & 1 else 1 << 20)
    source = make(stream, options, work_folder(), MEMORY, *([kind] if names else []))
    source.block_bytes = LEAST_BLOCK if pieces & 2 else WHOLE_BLOCK
    return source


def read_lines(make: Callable[..., LineFile], names: bool = False) -> Callable[[bytes], str]:
    """A target: a file of lines against `judge`, line by line."""

    def run(data: bytes) -> str:
        kept = linesource.parse_in_order
        linesource.parse_in_order = in_order  # type: ignore[assignment]
        try:
            with refusal() as refused:
                source = opened(make, Drawn(data), names)
                body = source._stream.peek(1 << 22)
                found: list[tuple] = []
                with refusal() as stopped:
                    for chunk in source.names_of_edges() if source.rules.strings else source.chunks():
                        found += listed(chunk)
                said = str(stopped.error) if stopped.error else None
                compare(source, body, found, said)
                if stopped.error:
                    raise stopped.error
            return refused.word
        finally:
            linesource.parse_in_order = kept

    return run


def listed(chunk: Any) -> list[tuple]:
    """The edges of a chunk as tuples."""
    weights = [0.0] * len(chunk.source) if chunk.weight is None else chunk.weight.tolist()
    return list(zip(chunk.source.tolist(), chunk.target.tolist(), weights, strict=True))


def compare(source: LineFile, body: bytes, found: list[tuple], refused: str | None) -> None:
    """Raise Wrong where a file was read otherwise than its lines say. refused: the message, None where it was read."""
    if refused is not None and "the line is longer than" in refused:
        return
    expected: list[tuple] = []
    skipped = 0
    lines = body.split(b"\n")
    for number, line in enumerate(lines[:-1] if body.endswith(b"\n") else lines, source.first_line):
        try:
            edge = judge(line, source.rules)
        except LineProblem as problem:
            if not source.bad.skips:
                where = f":{number}:{problem.column}: {problem.reason}. "
                if refused is None or where not in refused:
                    raise Wrong(f"line {number} is {line!r}, {problem.reason}; said: {refused}") from None
                return
            skipped += 1
            continue
        if edge is not None:
            expected.append((edge.source, edge.target, edge.weight or 0.0))
    if source.rules.target < 0:  # vertices alone: what stands beside them is nothing
        found, expected = ([(first, 0, 0.0) for first, _, _ in edges] for edges in (found, expected))
    if getattr(source, "_symmetry", "") == "skew-symmetric":
        expected += [(target, first, -weight) for first, target, weight in expected]
    whole = refused is None or AT_THE_END.search(refused) is not None
    if whole and sorted(found) != sorted(expected):
        raise Wrong(f"read {sorted(found)[:5]} for {sorted(expected)[:5]}")
    if whole and source.skipped.count != skipped:
        raise Wrong(f"{source.skipped.count} lines skipped, {skipped} are wrong")
    if refused is not None and re.search(r"a\.\w+:\d+:\d+: .* --bad-lines skip", refused):
        raise Wrong(f"every line is right; said: {refused}")


def read_block(data: bytes) -> str:
    """A target: the compiled readers of lines on one block, against `judge`: what all formats of lines go through."""
    drawn = Drawn(data)
    rules = RULES[drawn.byte() % len(RULES)]
    text = drawn.rest()
    text = text if text.endswith(b"\n") else text + b"\n"
    block = Block(np.frombuffer(text + bytes(PAD), np.uint8).copy(), len(text), 0)
    parsed = linesource.parse_block(block, rules, False)
    found, expected, problems = listed(parsed.chunk), [], []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        try:
            if (edge := judge(line, rules)) is not None:
                expected.append((edge.source, edge.target, edge.weight or 0.0))
        except LineProblem as problem:
            problems.append((number, problem.column, problem.reason))
    told = [(number, problem.column, problem.reason) for number, problem, _ in parsed.problems]
    if sorted(found) != sorted(expected) or told != problems or parsed.lines != text.count(b"\n"):
        raise Wrong(f"{sorted(found)[:5]} for {sorted(expected)[:5]}, {told[:3]} for {problems[:3]}")
    return "refused" if problems else "read"


RULES = (
    LineRules(2),
    LineRules(3, weight=2),
    LineRules(3, ",", weight=2),
    LineRules(2, "\t", strings=True),
    LineRules(4, source=2, target=0, weight=1, strings=True),
    LineRules(3, lead="a", comments="c", low=1, high_source=99, high_target=99, weight=2),
    LineRules(3, weight=2, comments="%", integer_weights=(-128, 127, "int8_t"), loops=False, loop_reason="{0}"),
    LineRules(3, ";", 2, 1),
)


def block_seeds() -> list[bytes]:
    """A few lines for each of the rules."""
    words = (b"1 2\n3\t4\n", b"1 2 0.5\n3 4 -1e5\n", b"1,2,3.25\r\n4, 5 ,1e22\n", b'a\tb c\n"d"\te\n',
             b"x 1.5 y z\n", b"c no\na 1 2 3\na 9 8 7e-9\n", b"% no\n1 2 -3\n2 1 127\n", b"7;8;9\n1; 2;3\n",
             b"18446744073709551615 1\n", b"1 2 12345678901234567890123.5e-30\n")  # fmt: skip
    return [bytes([rule]) + word for rule in range(len(RULES)) for word in words]


def read_vertices(data: bytes) -> str:
    """A target: LDBC's vertex file, of one ID a line."""
    return read_lines(VertexFile)(data)


def read_lists(make: Callable[..., AdjacencySource]) -> Callable[[bytes], str]:
    """A target: adjacency lists against Python's own reading of those that are plain numbers."""

    def run(data: bytes) -> str:
        kept = linesource.parse_in_order
        linesource.parse_in_order = in_order  # type: ignore[assignment]
        try:
            with refusal() as refused:
                source = opened(make, Drawn(data))
                assert isinstance(source, AdjacencySource)
                body = source._stream.peek(1 << 22)
                found: list[tuple] = []
                with refusal() as stopped:
                    for chunk in source.chunks():
                        found += listed(chunk)
                    for _ in source.vertex_ids() or ():
                        pass
                if stopped.error is None or AT_THE_END.search(str(stopped.error)):
                    expected = plain_lists(source, body)
                    if expected is not None and sorted(found) != sorted(expected):
                        raise Wrong(f"read {sorted(found)[:5]} for {sorted(expected)[:5]}")
                if stopped.error:
                    raise stopped.error
            return refused.word
        finally:
            linesource.parse_in_order = kept

    return run


def plain_lists(source: AdjacencySource, body: bytes) -> list[tuple] | None:
    """The edges of lists that are plain numbers; None where some are not, or carry weights."""
    lines = [line for line in body.split(b"\n") if not line.lstrip(b" \t").startswith(b"%")]
    lines = lines[:-1] if body.endswith(b"\n") else lines
    if source.weighted_lists or source.skipped_numbers or not all(map(PLAIN_LIST.fullmatch, lines)):
        return None
    lists = [[int(word) for word in line.split()] for line in lines]
    low, high, _ = source.rules.bounds
    if not all(low <= number <= high for numbers in lists for number in numbers):
        return None
    if source.headed:
        return [(numbers[0], other, 0.0) for numbers in lists for other in numbers[1:]]
    return [(at, other, 0.0) for at, numbers in enumerate(lists, 1) for other in numbers if at <= other]


def seeds(*names: str) -> Callable[[], list[bytes]]:
    """The files that the torture harness mutates, with a few options each."""

    def made() -> list[bytes]:
        texts = [TEXTS[name].encode() for name in names]
        cut = [text[: text.rindex(b"\n", 0, min(LONGEST // 2, len(text))) + 1] for text in texts]
        prefixes = (b"\0\0\0", b"\1\0\2", b"\4\0\0", b"\2\0\1", b"\x28\0\3")
        return [prefix + text for prefix in prefixes for text in (*texts, *cut) if len(text) < LONGEST] + [
            b"\0\0\0" + text for text in HANDMADE if len(text) < LONGEST - 9
        ]

    return made


MORE_MATRICES = [
    b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n",
    b"%%MatrixMarket matrix coordinate real skew-symmetric\n%%GraphBLAS type double\n3 3 2\n2 1 1.5\n3 2 -2e3\n",
    b"%%MatrixMarket matrix coordinate integer general\n%%GraphBLAS type uint8_t\n3 3 1\n2 1 255\n",
]
MORE_LISTS = [b"3 2 011 1\n7 2 5\n7 1 5 3 6\n7 2 6\n", b"3 2 100 2\n1 2\n1 1 3\n1 2\n", b"2 1 1\n2 0.5\n1 0.5\n"]


def more(made: Callable[[], list[bytes]], texts: list[bytes]) -> Callable[[], list[bytes]]:
    """`made` and some texts without options."""
    return lambda: made() + [b"\0\0\0" + text for text in texts]


def targets() -> list[Target]:
    """Those about texts."""
    same = "gives the edges that its lines say, or one line that says what is wrong"
    return [
        Target("text", f"an edge list {same}", read_lines(TextSource, True), seeds("a.txt", "a.csv", "a.tsv", "a.wel")),
        Target("lines", f"a block of lines {same}", read_block, block_seeds, 120),
        Target("mtx", f"a Matrix Market file {same}", read_lines(MatrixMarketSource),
               more(seeds("a.mtx"), MORE_MATRICES)),
        Target("dimacs", f"a DIMACS file {same}", read_lines(DimacsSource), seeds("a.gr")),
        Target("tntp", f"a TNTP network {same}", read_lines(TntpSource), seeds("a.tntp")),
        Target("vertex file", f"a list of vertices {same}", read_vertices, seeds("a.txt")),
        Target("metis", f"a METIS graph {same}", read_lists(MetisSource), more(seeds("a.graph"), MORE_LISTS)),
        Target("adjacency", f"an adjacency list {same}", read_lists(AdjacencySource), seeds("a.adj")),
    ]  # fmt: skip
