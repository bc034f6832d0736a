"""Any edges, written as any text, are read back; any bytes at all give edges or a message, never a crash."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from input_files import edges_of, opened, write

from pagestore.errors import GstreamError
from pagestore.inputs.badlines import LineProblem
from pagestore.inputs.blocks import PAD, Block
from pagestore.inputs.judge import LineRules, _split_quoted, judge, split_fields
from pagestore.inputs.linefilter import LineFilter
from pagestore.inputs.linesource import parse_block
from pagestore.inputs.signatures import MAGIC, MARKS, UTF8_MARK
from pagestore.inputs.sniff import TextLayout
from pagestore.inputs.streams import ByteStream

IDS = st.one_of(st.integers(0, 30), st.integers(0, (1 << 63) - 1))
WEIGHTS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), exclude_characters='#%"'), min_size=1)
SEPARATORS = st.sampled_from([" ", "\t", ",", ";", "|", "  ", " \t ", ", "])
ENDS = st.sampled_from(["\n", "\r\n"])


def read_text(text: str, **options):
    with tempfile.TemporaryDirectory() as folder:
        source = opened(write(Path(folder), "a.txt", text), Path(folder), **options)
        try:
            return edges_of(source)
        finally:
            source.close()


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=80), SEPARATORS, ENDS, st.booleans(), st.booleans())
def test_pairs(edges, separator, end, header, comment):
    lines = [f"{a}{separator}{b}" for a, b in edges]
    lines = [f"source{separator}target"] * header + ["# note"] * comment + lines
    assert read_text(end.join(lines) + end) == edges


@given(st.lists(st.tuples(IDS, IDS, WEIGHTS), min_size=1, max_size=60), SEPARATORS, ENDS)
def test_weights(edges, separator, end):
    text = end.join(separator.join(map(repr, edge)) for edge in edges)
    found = read_text(text)
    assert [repr(edge) for edge in found] == [repr(edge) for edge in edges]  # repr: -0.0 is not 0.0


@settings(max_examples=40)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40))
@example([(":", ":"), ("0", "0")])
@example([("a", "b"), ("0", "0")])
@example([("0", "\u00b9"), ("0", "0"), ("0", "0")])
@example([("0", "0"), ("0", "0"), ("9" * 5000, "0")])
def test_names(edges):
    quoted = [tuple('"' + name.replace('"', '""') + '"' for name in edge) for edge in edges]
    text = "".join(f"{a},{b}\n" for a, b in quoted)
    assert sorted(read_text(text, string_ids=True, header=False, format="csv")) == sorted(edges)


FIELDS = st.one_of(
    st.sampled_from(["1", "22", "-3", "4.5", "x", "", '"7"', '"8', "9" * 19, "9" * 30, "1e5", "1e99", "nan",
                     "+6", ".", "\0"]),
    st.text(alphabet='0123456789.eE+-" \t,;#\r\0é', max_size=6),
)  # fmt: skip
LINES = st.lists(st.lists(FIELDS, max_size=4), max_size=12)
RULES = st.sampled_from(
    [
        LineRules(fields=2),
        LineRules(fields=2, separator=","),
        LineRules(fields=3, separator=","),
        LineRules(fields=3, weight=2),
        LineRules(fields=3, weight=2, separator=","),
        LineRules(fields=3, source=2, target=0, weight=1, separator=","),
        LineRules(fields=4, source=1, target=3, separator=";"),
        LineRules(fields=3, weight=2, lead="1", comments="c", low=1, high_source=30, high_target=30),
        LineRules(fields=1, target=-1),
        LineRules(fields=2, strings=True),
        LineRules(fields=2, strings=True, separator=","),
        LineRules(fields=3, strings=True, separator="\t", weight=2),
    ]
)


@settings(max_examples=300)
@given(LINES, SEPARATORS, RULES)
@example([["1", "1", "\0", "1"], ["1", "1", '"\0"', "1"]], ";", LineRules(fields=4, source=1, target=3, separator=";"))
@example([['"a"', "b"], ["", "c"]], ",", LineRules(fields=2, strings=True, separator=","))
def test_kernels_agree_with_the_judge(lines, separator, rules):
    """The compiled readers take the lines that `judge` takes, with the same meaning, and no others."""
    text = ("\n".join(separator.join(line) for line in lines) + "\n").encode()
    expected, problems = [], []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        try:
            edge = judge(line, rules)
        except LineProblem as problem:
            problems.append((number, problem.column, problem.reason))
            continue
        if edge is not None:
            expected.append((edge.source, edge.target if rules.fields > 1 else edge.source, edge.weight))
    data = np.zeros(len(text) + PAD, dtype=np.uint8)
    data[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    parsed = parse_block(Block(data, len(text), 0), rules, first_problem_only=False)
    weight = parsed.chunk.weight
    weights = [None] * len(parsed.chunk.source) if weight is None else weight.tolist()
    target = parsed.chunk.target if rules.fields > 1 else parsed.chunk.source
    found = list(zip(parsed.chunk.source.tolist(), target.tolist(), weights, strict=True))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert [(n, p.column, p.reason) for n, p, _ in parsed.problems] == problems
    assert parsed.lines == len(text.split(b"\n")) - 1


MARKED_LINES = st.lists(
    st.tuples(
        st.sampled_from(["1", "+1", "22", "x", '"7"', "", "é", "\0", '"3""4"']),
        st.text(alphabet="0159,.' eE+-\"#\r", max_size=7) | st.sampled_from(["12,345", "12.345", "1e999", '"1,5"']),
        st.sampled_from(["y", "", " ", '""', "z\r ", '"a""b"', "# note"]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150)
@given(MARKED_LINES, st.sampled_from([",", "."]), st.booleans())
@example([("1", "1.234", "z\r ")], ",", False)
def test_weights_with_marks_are_read_as_the_judge_reads_them(lines, mark, strings):
    """A line that is rewritten for the kernels keeps its meaning; messages show the file's own text."""
    rules = LineRules(4, ";", 0, 1, 2, strings=strings, decimal=mark)
    text = "".join(f"{end};2;{weight};{rest}\n" for end, weight, rest in lines).encode()
    expected, problems = [], []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        try:
            if (edge := judge(line, rules)) is not None:
                expected.append((edge.source, edge.target, edge.weight))
        except LineProblem as problem:
            problems.append((number, problem.column, problem.reason, line))
    data = np.zeros(len(text) + PAD, dtype=np.uint8)
    data[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    ready = LineFilter("a.csv", TextLayout(rules, 0, 0, None), None, mark).prepare(Block(data, len(text), 0))
    parsed = parse_block(ready.block, rules, first_problem_only=False)
    found = zip(parsed.chunk.source.tolist(), parsed.chunk.target.tolist(), parsed.chunk.weight.tolist(), strict=True)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    told = sorted([*parsed.problems, *ready.problems], key=lambda problem: problem[0])
    assert [(n, p.column, p.reason, line) for n, p, line in told] == problems


@settings(max_examples=150)
@example(b'"\n\x01\n\x01')  # a quote that is not closed, and as many rows as a table has
@given(st.binary(max_size=300) | LINES.map(lambda lines: "\n".join(" ".join(line) for line in lines).encode()))
def test_any_bytes_give_edges_or_a_message(content):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.txt", "a.csv", "a.mtx", "a.gr", "a.graph", "a.adj", "a.sg", "a.npy", "a.npz", "a.parquet"):
            path = write(Path(folder), name, content)
            try:
                source = opened(path, Path(folder))
                edges_of(source)
                source.close()
            except GstreamError as error:
                assert str(error).endswith((".", ").")), error


@given(st.lists(st.sampled_from([b" ", b"\t", b",", b";", b"1", b"ab", b"\xc3", b"\0", b"\r"])).map(b"".join))
def test_lines_without_quotes_are_split_as_others_are(line):
    for separator, blanks in ((None, b" \t"), (",", b" \t"), (";", b" \t"), ("\t", b" ")):
        assert split_fields(line, separator) == _split_quoted(line, (separator or "").encode(), blanks)


@given(st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), min_size=1), st.integers(0, 99))
def test_lines_of_a_header(lines, looked_at):
    """One after the other, whatever was looked at before, and then the rest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        assume(not lines[0].startswith((*MAGIC, UTF8_MARK, *MARKS)))  # would be compressed, or lose the mark
        path.write_bytes(b"\n".join(lines) + b"\nlast")
        stream = ByteStream(path)
        for line in lines:
            stream.peek(looked_at)
            assert stream.read_line() == line.rstrip(b"\r")
        assert stream.peek(9) == b"last" and stream.read(2) == b"la" and stream.peek(9) == b"st"
        assert (stream.read_line(), stream.read_line()) == (b"st", None)
        stream.close()
