"""Adjacency lists that hold the number of their neighbours, which is no neighbour: GraphChi's, and NetworkX's of lines.

GraphChi: `vertex count neighbour neighbour ...`. NetworkX's multiline lists: `vertex count`, then a neighbour a line.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pagestore.errors import InputError
from pagestore.inputs.signatures import COUNT
from pagestore.inputs.streams import ByteStream

SAMPLE_BYTES = 1 << 16
LEAST_LISTS = 3  # fewer may be so by chance
OVERRIDE = "If these numbers are vertices, pass --format adjacency."


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
