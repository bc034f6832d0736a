"""Fuzz targets about conditions on rows, tables that come by pipes, and files of graphs that NetworkX reads.

A condition runs on one Parquet file of several row groups, against pyarrow's filter over the whole table: statistics
that rule a row group out wrongly would show.
"""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pagestore.inputs import InputOptions
from pagestore.inputs.conditions import Condition
from pagestore.inputs.detect import _open_one
from pagestore.inputs.folders import Spooled
from tests.fuzz.files import any_folder, arrow_seeds, parquet_seeds, read_all
from tests.fuzz.targets import Drawn, MemoryStream, Target, Wrong, refusal, work_folder
from tests.fuzz.texts import MEMORY, drawn_options

ROWS, GROUP = 24, 6
KINDS = ("graphml", "gexf", "gml", "pajek")
CONDITIONS = (
    "src > 9", "not price > 4.5", "price != 3", "small in (1, 20)", "word == 'w7' or word is null", "flag",
    "day >= '2024-01-20'", "moment < date('2024-01-05') and not flag", "`two words` * 2 / 3 <= 8", "-small < -9",
    "1 < src <= 3", "money > 2.5", "kind not in ('p')", "src = 1", "nothing > 1", "word > 1", "src > 1 and", "f(src)",
    "src ** 2 > 1", "price == price", "small + small - 1 == 3", "src is not null", "(src > 1", "'a' < word",
)  # fmt: skip


@cache
def rows() -> Any:
    """Rows of all types that conditions read, with nulls and NaN."""
    import pyarrow as pa

    numbers = range(ROWS)
    days = [datetime.date(2024, 1, 1 + k) for k in numbers]
    return pa.table(
        {
            "src": numbers, "dst": range(1, ROWS + 1), "two words": numbers,
            "small": pa.array([None if k == 5 else k for k in numbers], pa.int8()),
            "price": [float("nan") if k % 7 == 3 else None if k == 8 else k / 2 for k in numbers],
            "word": [None if k == 13 else f"w{k}" for k in numbers], "flag": [k % 3 == 0 for k in numbers],
            "day": days, "moment": pa.array(days).cast(pa.timestamp("us")),
            "money": pa.array(list(numbers)).cast(pa.decimal128(21, 2)),
            "kind": pa.array(["p" if k < 8 else "q" for k in numbers]).dictionary_encode(),
        }
    )  # fmt: skip


@cache
def file_of_rows() -> Path:
    """The same as a Parquet file."""
    import pyarrow.parquet as parquet

    path = work_folder() / "rows.parquet"
    parquet.write_table(rows(), path, row_group_size=GROUP)
    return path


def read_condition(data: bytes) -> str:
    """A target: a condition, on a file of row groups and on the table in memory."""
    text = data.decode("utf-8", "replace")
    source: Any = None
    with refusal() as refused:
        source = _open_one(file_of_rows(), "parquet", InputOptions(where=text, weights=False), work_folder(), MEMORY)
        found = [edge[0] for edge in read_all(source)]
        kinds = {field.name: field.type for field in rows().schema}
        left = rows().filter(Condition(text).expression(kinds))["src"].to_pylist()
        if found != left:
            raise Wrong(f"{text!r} leaves {found[:8]} of the file and {left[:8]} of the table")
        if source.skipped.filtered != ROWS - len(left):
            raise Wrong(f"{source.skipped.filtered} rows left out for {ROWS - len(left)}")
    return refused.word


def read_pipe(data: bytes) -> str:
    """A target: a table of Parquet or Arrow that a pipe gives, a few bytes at a time or all."""
    drawn = Drawn(data)
    options, step = drawn_options(drawn, False), drawn.byte()
    folder = any_folder()
    try:
        with refusal() as refused:
            stream = MemoryStream(drawn.rest(), "stdin", 7 if step & 1 else 1 << 20)
            kind = "parquet" if stream.peek(4) == b"PAR1" else "arrow"
            source = _open_one(Spooled(stream, folder, 0), kind, options, folder, MEMORY)
            try:
                read_all(source)
            finally:
                source.close()
        return refused.word
    finally:
        for left in folder.iterdir():
            left.unlink()


def read_graph_file(data: bytes) -> str:
    """A target: a GraphML, GEXF, GML or Pajek file."""
    drawn = Drawn(data)
    kind = KINDS[drawn.byte() % len(KINDS)]
    with refusal() as refused:
        options = drawn_options(drawn, False)
        stream = MemoryStream(drawn.rest(), f"a.{kind}")
        source = _open_one(stream, kind, options, work_folder(), MEMORY)
        try:
            read_all(source)
        finally:
            source.close()
    return refused.word


def graph_file_seeds() -> list[bytes]:
    graphml = (
        b'<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/><graph edgedefault="%s">'
        b'<node id="1"/><node id="2"/><edge source="1" target="2"><data key="w">2.5</data></edge></graph></graphml>'
    )
    gexf = (
        b'<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph defaultedgetype="directed"><nodes>'
        b'<node id="a"/><node id="b"/></nodes><edges><edge id="0" source="a" target="b" weight="2"/></edges></graph>'
        b"</gexf>"
    )
    gml = b'graph [ directed 1 node [ id 0 label "x" ] node [ id 1 label "y" ] edge [ source 0 target 1 weight 3 ] ]'
    pajek = b'*vertices 3\n1 "a"\n2 "b"\n3 "c"\n*%s\n1 2 1.5\n2 3 2\n'
    made = [
        (0, graphml % b"directed"),
        (0, graphml % b"undirected"),
        (1, gexf),
        (2, gml),
        (3, pajek % b"arcs"),
        (3, pajek % b"edges"),
        (3, pajek % b"arcs" + b"*edges\n1 3\n"),
        (0, b"<graphml>"),
        (2, b"graph [ node [ ]"),
    ]
    return [bytes([kind, bits, 0]) + text for kind, text in made for bits in (0, 2)]


def pipe_seeds() -> list[bytes]:
    return [seed[1:3] + bytes([step]) + seed[3:]
            for made in (arrow_seeds, parquet_seeds) for seed in made() for step in (0, 1)]  # fmt: skip


def targets() -> list[Target]:
    """Those of this file."""
    word = "is read or refused in one line"
    return [
        Target("conditions", "a condition leaves the rows of a table, whichever row groups its statistics rule out",
               read_condition, lambda: [text.encode() for text in CONDITIONS]),
        Target("piped tables", f"a table from a pipe {word}", read_pipe, pipe_seeds, 2000),
        Target("graph files", f"a GraphML, GEXF, GML or Pajek file {word}", read_graph_file, graph_file_seeds, 500),
    ]  # fmt: skip
