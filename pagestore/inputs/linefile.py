"""A text file whose edges stand on lines: opening, the header, blocks, counts. Formats derive from `LineFile`.

The file is opened once to read its header and again (when it can be) for every pass, so that a thousand inputs do not
take a thousand descriptors; a pipe stays open from its header to its only pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions
from pagestore.inputs.blocks import Block, block_bytes
from pagestore.inputs.foreign import check_text
from pagestore.inputs.headers import CUT, Head, header_error, promised_vertices
from pagestore.inputs.linesource import NameChunk, Parsed, handed_on, parse_block, parsed_blocks
from pagestore.inputs.streams import ByteStream

CHECK_BYTES = 1 << 12  # a NUL byte in here means a binary file, later on a bad line


class LineFile(EdgeSource):
    """Base of the line formats, which differ in `begin`.

    `path` may be a pipe that is open already. comments_above: comment lines that `begin` consumes. quoting: fields may
    be quoted.
    """

    comments_above = 0
    quoting = True

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__()
        self._path, self.options = path, options
        self.block_bytes = block_bytes(memory_bytes, options.threads)
        self.bad = BadLines(options.bad_lines, options.skipped_path, self.skipped)
        self.owns_bad = True  # False when this is one of several inputs, which share one list
        self._stream = path if isinstance(path, ByteStream) else ByteStream(path)
        self._used = False
        self._skipped_before = 0
        self.name = self._stream.name
        self.total_bytes = self._stream.total_bytes
        self.replayable = self._stream.replayable
        try:
            check_text(self.name, self._stream.peek(CHECK_BYTES))
            self._read_head()
        except BaseException:
            self.close()
            raise
        self.weighted = self.rules.weight is not None
        if self.head.vertices is not None:
            self.vertices, self.id_base = promised_vertices(self.name, self.head.vertices, options), 1
        if self.replayable:
            self.close()

    @abstractmethod
    def begin(self, stream: ByteStream) -> Head:
        """Consume the header of `stream`."""

    def parse(self, block: Block) -> Parsed:
        """Read the lines of a block."""
        return parse_block(block, self.rules, not self.bad.skips)

    def _read_head(self) -> None:
        self.head = self.begin(self._stream)
        self.rules, self.first_line = self.head.rules, self.head.first_line

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
            self._read_head()
        self._used = True
        if self.owns_bad:
            self.bad.begin()
        self.bad.pass_comments(self.comments_above)
        self._skipped_before = self.skipped.count
        return self._stream

    def blocks(self) -> Iterator[tuple[Block, Any]]:
        """The blocks behind the header and what `parse` made of them, in order; bad lines go to `bad`."""
        stream, quoting = self.open_lines(), self.rules if self.quoting else None
        try:
            yield from parsed_blocks(
                stream, self.parse, quoting, self.first_line, self.bad, self.options.threads, self.block_bytes
            )
        finally:
            stream.close()
            if self.owns_bad:
                self.bad.close()

    def chunks(self) -> Iterator[EdgeChunk]:
        edges = 0
        for block, parsed in self.blocks():
            edges += len(parsed.chunk)
            for chunk in handed_on(self._stream, block.end, parsed.chunk, self.options.chunk_edges):
                yield from self.turned(chunk)
        self.check(edges)

    def turned(self, chunk: EdgeChunk) -> Iterator[EdgeChunk]:
        """What a chunk of lines stands for; a format may add edges here (skew-symmetric matrices)."""
        yield chunk

    def names_of_edges(self) -> Iterator[NameChunk]:
        """Edges as pairs of names, when `rules.strings`."""
        edges = 0
        for block, parsed in self.blocks():
            edges += len(parsed.chunk)
            self._stream.reached = block.end
            if len(parsed.chunk):
                yield parsed.chunk
        self.check(edges)

    @property
    def skipped_here(self) -> int:
        """Lines of this input that were skipped in the current pass (`skipped` counts those of all inputs)."""
        return self.skipped.count - self._skipped_before

    def check(self, edges: int) -> None:
        """Refuse an input whose header promised another number of edges, and one of which every line was skipped."""
        found, head = edges + self.skipped_here, self.head
        if head.edges not in (None, found):
            reason = f"the header promises {head.edges} {head.noun}; the file holds {found}"
            raise header_error(self.name, head.line, reason, CUT)
        if edges == 0 and self.skipped_here:
            remedy = "Check --where." if self.options.where is not None else "Name the right format with --format."
            raise InputError(
                f"{self.name}: not one of its lines is an edge; the first one: {self.skipped.first[0]}. {remedy}"
            )
