"""LDBC Graphalytics datasets: NAME.v lists the vertices, one ID a line, NAME.e the edges, `source target [weight]`.

IDs are any integers up to 2^63-1. NAME.properties says whether the graph is directed, when it is there. Every endpoint
must be listed in NAME.v (`closed`); without a NAME.v the vertices are those of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.base import InputOptions
from pagestore.inputs.headers import Head
from pagestore.inputs.identify import ldbc_file, ldbc_stem
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.streams import ByteStream
from pagestore.inputs.text import TextSource


class VertexFile(LineFile):
    """A file of vertex IDs, one a line: they are the sources of its chunks."""

    def begin(self, stream: ByteStream) -> Head:
        return Head(LineRules(fields=1, target=-1, due="a vertex ID"), 1)


class LdbcSource(TextSource):
    """The dataset that `path` (NAME, NAME.e or NAME.v) belongs to."""

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        stem = ldbc_stem(path)
        edges = ldbc_file(stem, ".e")
        if edges is None:
            raise InputError(f"{stem}.e: no such file. A Graphalytics dataset is a pair {Path(stem).name}.v and .e.")
        super().__init__(edges, options, workdir, memory_bytes)
        if self.strings:
            raise InputError(
                f"{self.name}: its IDs are not numbers; Graphalytics numbers its vertices. Read it with --format text."
            )
        listed = ldbc_file(stem, ".v")
        self._listed = VertexFile(listed, options, workdir, memory_bytes) if listed is not None else None
        if self._listed is not None:
            self._listed.bad, self._listed.owns_bad, self._listed.skipped = self.bad, False, self.skipped
        self.closed = self._listed is not None
        self.directed = _directed(Path(f"{stem}.properties"))

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        if self._listed is None:
            return None
        return (chunk.source.view(np.int64) for chunk in self._listed.chunks())


def _directed(properties: Path) -> bool | None:
    """What `graph.NAME.directed` says, None when there is no such file or line."""
    if not properties.is_file():
        return None
    for line in properties.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip().endswith(".directed") and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
    return None
