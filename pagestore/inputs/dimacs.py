"""DIMACS graphs: `p sp N M` with arcs `a U V W` (shortest paths, 9th challenge), `p edge N M` with edges `e U V`.

IDs count from 1; `c` begins a comment. Arcs are directed (a road network lists both directions), edges are not. Among
edges `n`, `d`, `v` and `x` begin lines about vertices, which are left out.
The 10th challenge's files are METIS (adjacency.py).
"""

from __future__ import annotations

from pagestore.inputs.badlines import quoted
from pagestore.inputs.headers import Head, HeadReader, numbered_to
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.signatures import DIMACS_EDGES, DIMACS_OTHERS, DIMACS_VALUES
from pagestore.inputs.streams import ByteStream


class DimacsSource(LineFile):
    """A .gr or .col file; `vertices` as its problem line says, `id_base` 1."""

    def begin(self, stream: ByteStream) -> Head:
        head, words = HeadReader(stream), ["c"]
        while not words or words[0] == "c":
            line = head.next("its problem line, 'p sp N M'")
            words = line.decode("utf-8", "replace").split()
        if words[0] == "p" and len(words) > 1 and words[1] in DIMACS_OTHERS:
            raise head.error(
                f"'p {words[1]}' is {DIMACS_OTHERS[words[1]]}, which convert does not read",
                'Make an edge list of it first: awk \'$1 == "a" || $1 == "e"{print $2, $3}\' FILE > edges.txt.',
            )
        if words[0] != "p" or len(words) < 2 or words[1] not in DIMACS_EDGES:
            raise head.error(f"{quoted(line)} is no problem line; it is 'p sp N M' or 'p edge N M'")
        vertices, edges = head.integers(" ".join(words[2:]).encode(), 2, "vertices and edges")
        lead = DIMACS_EDGES[words[1]]
        valued = lead == "a"
        if not valued and self.options.directed is None:
            self.directed = False
        rules = LineRules(
            fields=3 if valued else 2, weight=2 if valued and self.options.weights else None, lead=lead,
            passed=DIMACS_VALUES[lead], comments="c", due="source, target and weight" if valued else "two ends",
            **numbered_to(vertices),
        )  # fmt: skip
        return Head(rules, head.number + 1, vertices, edges, line=head.number)
