"""Bytes of an input file or stdin: opened, recognised by magic number, decompressed, never cut off silently.

Encoding: `read(n)` returns up to n decompressed bytes and b"" only at the true end. A compressed file that ends early,
is damaged, or has other bytes after its last member raises InputError. The reader of `zstandard` ends a cut frame
quietly (0.25), so frames are driven one by one here. gzip goes through `isal` (530 MB/s of output on one core; zlib
250), bz2 and xz through the standard library.
"""

from __future__ import annotations

import bz2
import errno
import lzma
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from isal import isal_zlib

from pagestore.errors import InputError
from pagestore.faults import read_error
from pagestore.inputs.signatures import MAGIC, SUFFIXES, UTF8_MARK

STDIN = "-"
READ_BYTES = 1 << 18
ZSTD_SLICE = 1 << 13  # input a call: a run-length frame grows at most 2^15-fold, so one call yields <= 256 MiB
ZSTD_WINDOW = 1 << 31  # accepts `zstd --long=31`
XZ_MEMORY = 1 << 30  # what a header may ask for: `xz -9` takes 65 MiB
MAGIC_BYTES = max(map(len, MAGIC))
Read = TypeVar("Read")


class _GzipDecoder:
    """A gzip member, as bz2.BZ2Decompressor; `kept`: input that waits, which the position of a stream leaves out."""

    def __init__(self) -> None:
        self._inner: Any = isal_zlib.decompressobj(wbits=31)
        self.kept = b""

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._inner.decompress(self.kept + data, max_length)
        self.kept = self._inner.unconsumed_tail
        return bytes(out)


class _ZstdDecoder:
    """A zstd frame, as bz2.BZ2Decompressor; `kept`: input that waits. ZSTD_SLICE bounds what exceeds `max_length`."""

    def __init__(self) -> None:
        import zstandard

        self._inner = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
        self.kept = b""

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self.kept

    def decompress(self, data: bytes, max_length: int) -> bytes:
        data = self.kept + data
        parts, size, at = [], 0, 0
        while at < len(data) and size < max_length and not self._inner.eof:
            parts.append(self._inner.decompress(data[at : at + ZSTD_SLICE]))
            size += len(parts[-1])
            at += ZSTD_SLICE
        self.kept = data[at:]
        return b"".join(parts)


def _decoder(kind: str) -> Any:
    """What decompresses one member, in the manner of bz2.BZ2Decompressor."""
    if kind == "gzip":
        return _GzipDecoder()
    if kind == "zstd":
        return _ZstdDecoder()
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)


def check_file(path: str | Path, may_be_empty: bool = False) -> os.stat_result:
    """Stat of an input; InputError when it is missing, a folder or unreadable, or empty where it may not be."""
    try:
        info = os.stat(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path.") from None
    except (OSError, ValueError) as error:
        raise read_error(error, f"{path}: can't be opened", "Check the path and its rights.") from None
    if stat.S_ISDIR(info.st_mode):
        raise InputError(f"{path}: is a folder; an input is a file. Name the files in it, e.g. {path}/*.txt.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: permission denied. Make the file readable.")
    if stat.S_ISREG(info.st_mode) and info.st_size == 0 and not may_be_empty:
        raise InputError(f"{path}: is empty (0 bytes); an input has at least one edge. Check how it was made.")
    return info


class ByteStream:
    """Decompressed bytes of `path` ("-" is stdin), forward only, with a look ahead; without a UTF-8 byte order mark.

    name: as the user wrote it, "stdin" for a pipe.  compression: None or gzip, zstd, bzip2, xz.
    total_bytes: size of the file as stored, None for a pipe.  replayable: False for stdin and pipes.
    device: is neither stdin nor a pipe: it may have no end.
    reached: stored bytes of the lines that were parsed and handed on: set by the parser, since reading is ahead.
    Raises InputError for whatever can't be read in full.
    """

    def __init__(self, path: str | Path, may_be_empty: bool = False) -> None:
        self.name = "stdin" if str(path) == STDIN else str(path)
        self.total_bytes: int | None = None
        self.replayable = self.device = False
        if str(path) == STDIN:
            self._file = sys.stdin.fileno()
            self._owned = False
        else:
            info = check_file(path, may_be_empty)
            self.device = not (stat.S_ISFIFO(info.st_mode) or stat.S_ISSOCK(info.st_mode))
            if stat.S_ISREG(info.st_mode):
                self.total_bytes, self.replayable = info.st_size, True
            try:
                self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise read_error(error, f"{self.name}: can't be opened", "Check its rights.") from None
            self._owned = True
        self._reading, self._closed = threading.Lock(), False
        self.reached = 0
        self._consumed = 0  # bytes taken from the file
        self._given = 0  # bytes handed out
        self._ahead = b""  # decompressed; its first `_taken` bytes were handed out
        self._taken = 0
        self._raw = b""  # read, not decompressed yet
        self._decoder: Any = None
        try:
            self._begin(may_be_empty)
        except BaseException:
            self.close()
            raise

    def _begin(self, may_be_empty: bool) -> None:
        """Find the compression and decompress something."""
        self._raw = self._beginning(b"")
        self.compression = next((kind for magic, kind in MAGIC.items() if self._raw.startswith(magic)), None)
        suffix = os.path.splitext(self.name)[1]
        named = SUFFIXES.get(suffix.lower())
        if named and self.compression is None and self._raw:
            raise InputError(
                f"{self.name}: is not {named} data although its name ends in {suffix}; it starts with "
                f"{self._raw[:4]!r}. Rename it, or make it again if it was damaged."
            )
        self._decoder = _decoder(self.compression) if self.compression else None
        if self.peek(len(UTF8_MARK)) == UTF8_MARK:
            self.read(len(UTF8_MARK))
        elif not self.peek(1) and not may_be_empty:
            raise InputError(f"{self.name}: is empty (0 bytes); an input has at least one edge. Check how it was made.")

    def position(self) -> int:
        """Bytes of the stored (compressed) file consumed so far."""
        return self._consumed - len(self._raw) - len(getattr(self._decoder, "kept", b""))

    @property
    def given(self) -> int:
        """Decompressed bytes handed out so far."""
        return self._given

    def stored_before(self, given: int) -> int:
        """Stored bytes of the first `given` decompressed ones: exact unless compressed."""
        made = self._given + len(self._ahead) - self._taken
        return self.position() * given // made if made else 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes (fewer only at the end) without consuming them."""
        if self._taken:
            self._ahead, self._taken = self._ahead[self._taken :], 0
        parts, have = [self._ahead], len(self._ahead)
        while have < size and (part := self._produce(size - have)):
            parts.append(part)
            have += len(part)
        self._ahead = b"".join(parts)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes (at least one), b"" at the end."""
        if self._ahead:
            part = self._ahead[self._taken : self._taken + size]
            self._take(len(part))
        else:
            part = self._produce(size)
            if len(part) > size:
                part, self._ahead = part[:size], part[size:]
        self._given += len(part)
        return part

    def read_into(self, out: np.ndarray) -> int:
        """Read up to len(out) bytes, at least one, into uint8[n]; how many, 0 at the end. It copies no plain file."""
        if self.total_bytes is None or self._decoder is not None or self._ahead or self._raw:
            part = self.read(len(out))
            out[: len(part)] = np.frombuffer(part, np.uint8)
            return len(part)
        count = self._while_open(lambda: self._told(lambda: os.readv(self._file, [out.data])), 0)
        self._consumed += count
        self._given += count
        return count

    def read_line(self, longest: int = 1 << 20) -> bytes | None:
        """The next line without its line end, None at the end of the input."""
        end, size = self._ahead.find(b"\n", self._taken) + 1 - self._taken, 1 << 10
        while end <= 0:
            head = self.peek(size)
            end = head.find(b"\n") + 1
            if not head:
                return None
            if end <= 0 and (len(head) < size or size > longest):
                end = len(head)
            size *= 4
        line = self._ahead[self._taken : self._taken + end]
        self._take(end)
        self._given += end
        return line.rstrip(b"\r\n")

    def _take(self, size: int) -> None:
        self._taken += size
        if self._taken == len(self._ahead):
            self._ahead, self._taken = b"", 0

    def close(self) -> None:
        """Close the file (stdin stays open); safe to call twice, and while another thread reads.

        That thread then closes the file: else it might read from another file that got the same descriptor.
        """
        self._closed = True
        if self._reading.acquire(blocking=False):
            self._close_file()
            self._reading.release()

    def _close_file(self) -> None:
        if self._owned:
            os.close(self._file)
            self._owned = False

    def _read_raw(self, size: int) -> bytes:
        return self._while_open(lambda: self._read_file(size), b"")

    def _while_open(self, read: Callable[[], Read], nothing: Read) -> Read:
        with self._reading:
            try:
                return nothing if self._closed else read()
            finally:
                if self._closed:
                    self._close_file()

    def _read_file(self, size: int) -> bytes:
        data = self._told(lambda: os.read(self._file, size))
        self._consumed += len(data)
        return data

    def _told(self, read: Callable[[], Read]) -> Read:
        try:
            return read()
        except OSError as error:
            if error.errno == errno.EISDIR:
                raise InputError(f"{self.name}: is a folder; an input is a file.") from None
            what = f"{self.name}: reading stopped at byte {self._consumed}"
            raise read_error(error, what, "Check the disk or the pipe.") from None

    def _beginning(self, raw: bytes, padded: bool = False) -> bytes:
        """`raw` (without leading zeros when `padded`) and as much of the file as a magic number takes.

        A pipe may give a byte at a time, and padding may go on in the next bytes.
        """
        while True:
            raw = raw.lstrip(b"\0") if padded else raw
            if len(raw) >= MAGIC_BYTES or not (part := self._read_raw(READ_BYTES)):
                return raw
            raw += part

    def _produce(self, size: int) -> bytes:
        if self._decoder is None:
            if self._raw:
                data, self._raw = self._raw, b""
                return data
            return self._read_raw(size)
        return self._decompress(size)

    def _decompress(self, size: int) -> bytes:
        """At least one decompressed byte, b"" at the end of the last member."""
        while True:
            if self._decoder.eof and not self._next_member():
                return b""
            raw, self._raw = self._raw, b""
            try:
                out = self._decoder.decompress(raw, size)
                if out:
                    return out
                if self._decoder.eof:
                    continue
                self._raw = self._read_raw(READ_BYTES)
                if not self._raw:
                    self._fail("ends in the middle of", "it was cut off")
            except (InputError, MemoryError):
                raise
            except Exception as error:  # isal, zstandard, bz2 and lzma each raise their own
                self._fail("is damaged in", str(error).replace("zstd decompressor error: ", ""))

    def _next_member(self) -> bool:
        """Start the next gzip member or zstd frame; False at the end of the file."""
        assert self._decoder is not None and self.compression is not None
        padded = self.compression in ("gzip", "xz")  # both formats allow padding by zeros
        self._raw = self._beginning(self._decoder.unused_data + self._raw, padded)
        magic = next(magic for magic, kind in MAGIC.items() if kind == self.compression)
        if not self._raw:
            return False
        if not self._raw.startswith(magic):
            raise InputError(
                f"{self.name}: has {self._raw[:8]!r}... after the end of its {self.compression} data. "
                f"Cut the file there, or make it again."
            )
        self._decoder = _decoder(self.compression)
        return True

    def _fail(self, what: str, detail: str) -> None:
        raise InputError(
            f"{self.name}: {what} its {self.compression} data ({detail}) after {self._consumed} compressed bytes, "
            f"near decompressed byte {self._given + len(self._ahead) - self._taken}. Download or make the file again."
        )
