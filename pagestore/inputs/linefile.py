"""A text file whose edges stand on lines: opening, the header, blocks, counts. Formats derive from `LineFile`.

The file is opened once to read its header and again (when it can be) for every pass, so that a thousand inputs do not
take a thousand descriptors; a pipe stays open from its header to its only pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions
from pagestore.inputs.blocks import block_bytes
from pagestore.inputs.foreign import check_text
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linesource import NameChunk, edge_chunks, name_chunks
from pagestore.inputs.streams import ByteStream

CHECK_BYTES = 1 << 12  # a NUL byte in here means a binary file, later on a bad line


class LineFile(EdgeSource):
    """Base of the line formats. `begin` reads the header and gives the rules; `finish` checks the counts.

    `path` may be a pipe that is open already. comments_above: comment lines that `begin` consumes.
    """

    comments_above = 0

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__()
        self._path, self.options = path, options
        self.block_bytes = block_bytes(memory_bytes, options.threads)
        self.bad = BadLines(options.bad_lines, options.skipped_path or workdir / "skipped_lines.txt", self.skipped)
        self.owns_bad = True  # False when this is one of several inputs, which share one list
        self._stream = path if isinstance(path, ByteStream) else ByteStream(path)
        self._used = False
        self._skipped_before = 0
        self.name = self._stream.name
        self.total_bytes = self._stream.total_bytes
        self.replayable = self._stream.replayable
        try:
            check_text(self.name, self._stream.peek(CHECK_BYTES))
            self.rules, self.first_line = self.begin(self._stream)
        except BaseException:
            self.close()
            raise
        self.weighted = self.rules.weight is not None
        if self.replayable:
            self.close()

    @abstractmethod
    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        """Consume the header of `stream`: (rules of the lines behind it, number of the first of them)."""

    def finish(self, edges: int) -> None:
        """All lines were read and gave `edges` edges; raises InputError when the header promised another number."""

    def position(self) -> int:
        return self._stream.reached if self._used else 0

    def close(self) -> None:
        self._stream.close()

    def open_lines(self) -> ByteStream:
        """The stream, placed behind the header; raises UsageError for a second pass over a pipe."""
        if self._used and not self.replayable:
            raise UsageError(f"{self.name}: a pipe can be read only once.")
        if self.replayable:
            assert not isinstance(self._path, ByteStream)  # those are pipes
            self._stream = ByteStream(self._path)
            self.rules, self.first_line = self.begin(self._stream)
        self._used = True
        if self.owns_bad:
            self.bad.begin()
        self.bad.pass_comments(self.comments_above)
        self._skipped_before = self.skipped.count
        return self._stream

    def chunks(self) -> Iterator[EdgeChunk]:
        stream = self.open_lines()
        edges = 0
        try:
            for chunk in edge_chunks(
                stream,
                self.rules,
                self.first_line,
                self.bad,
                self.options.threads,
                self.block_bytes,
                self.options.chunk_edges,
            ):
                edges += len(chunk)
                yield from self.turned(chunk)
            self.finish(edges)
            self.check_some(edges)
        finally:
            stream.close()
            if self.owns_bad:
                self.bad.close()

    def turned(self, chunk: EdgeChunk) -> Iterator[EdgeChunk]:
        """What a chunk of lines stands for; a format may add edges here (skew-symmetric matrices)."""
        yield chunk

    def names_of_edges(self) -> Iterator[NameChunk]:
        """Edges as pairs of names, when `rules.strings`."""
        stream = self.open_lines()
        edges = 0
        try:
            for chunk in name_chunks(
                stream, self.rules, self.first_line, self.bad, self.options.threads, self.block_bytes
            ):
                edges += len(chunk.source)
                yield chunk
            self.check_some(edges)
        finally:
            stream.close()
            if self.owns_bad:
                self.bad.close()

    @property
    def skipped_here(self) -> int:
        """Lines of this input that were skipped in the current pass (`skipped` counts those of all inputs)."""
        return self.skipped.count - self._skipped_before

    def check_some(self, edges: int) -> None:
        """Refuse an input of which every line was skipped."""
        if edges == 0 and self.skipped_here:
            raise InputError(
                f"{self.name}: not one of its lines is an edge; the first one: {self.skipped.first[0]}. "
                f"Name the right format with --format."
            )
