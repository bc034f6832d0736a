"""DIMACS graphs: `p sp N M` with arcs `a U V W` (shortest paths, 9th challenge), `p edge N M` with edges `e U V`.

IDs count from 1; `c` begins a comment. Arcs are directed (a road network lists both directions), edges are not. Among
edges `n`, `d`, `v` and `x` begin lines about vertices, which are left out.
The 10th challenge's files are METIS (adjacency.py).
"""

from __future__ import annotations

from pathlib import Path

from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.headers import header_error, integers, promised_vertices
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.linesource import read_line
from pagestore.inputs.signatures import DIMACS_EDGES, DIMACS_OTHERS, DIMACS_VALUES
from pagestore.inputs.streams import ByteStream


class DimacsSource(LineFile):
    """A .gr or .col file; `vertices` as its problem line says, `id_base` 1."""

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self.id_base = 1
        super().__init__(path, options, workdir, memory_bytes)
        self.vertices = promised_vertices(self.name, self._count, options)
        self.directed = None if self._kind == "sp" else False

    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        number = 0
        while True:
            line = read_line(stream)
            number += 1
            if line is None:
                raise header_error(stream.name, number, "the file ends before its problem line, 'p sp N M'")
            words = line.decode("utf-8", "replace").split()
            if not words or words[0] == "c":
                continue
            if words[0] == "p" and len(words) > 1 and words[1] in DIMACS_OTHERS:
                raise header_error(
                    stream.name,
                    number,
                    f"'p {words[1]}' is {DIMACS_OTHERS[words[1]]}, which convert does not read",
                    'Make an edge list of it first: awk \'$1 == "a" || $1 == "e"{print $2, $3}\' FILE > edges.txt.',
                )
            if words[0] != "p" or len(words) < 2 or words[1] not in DIMACS_EDGES:
                raise header_error(
                    stream.name, number, f"{shown(line)!r} is no problem line; it is 'p sp N M' or 'p edge N M'"
                )
            break
        self._kind, self._line = words[1], number
        self._count, self._edges = integers(stream.name, number, " ".join(words[2:]).encode(), 2, "vertices and edges")
        lead = DIMACS_EDGES[self._kind]
        valued = lead == "a"
        rules = LineRules(
            fields=3 if valued else 2,
            weight=2 if valued and self.options.weights else None,
            lead=lead,
            passed=DIMACS_VALUES[lead],
            comments="c",
            low=1,
            high_source=self._count,
            high_target=self._count,
            limit=f"the header lets IDs run from 1 to {self._count}",
            due="source, target and weight" if valued else "two ends",
        )
        return rules, number + 1

    def finish(self, edges: int) -> None:
        found = edges + self.skipped_here
        if found != self._edges:
            raise header_error(
                self.name,
                self._line,
                f"the header promises {self._edges} edges; the file holds {found}",
                "The file was cut or damaged: get it again.",
            )
