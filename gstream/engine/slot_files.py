"""What a slot of a checkpoint is on the disk, and how it is read and checked.

    slot-N                  magic[8], u64 description bytes, u32 its CRC-32, description (JSON), arrays
    slot-N.SEQUENCE-RANK    pieces of arrays alone: what a rank wrote of a slot that has `parts`

The description is the caller's, with `sequence` (which slot is newer), `arrays`: [name, dtype, elements, CRC-32], and
`parts`: [file, [[name, first element, elements, CRC-32] of each piece]]. Without parts the arrays follow the
description back to back. With parts they lie in these files, whose pieces make up each array.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pagestore.crc import crc32
from pagestore.errors import GstreamError, InputError
from pagestore.faults import read_error, shortage

MAGIC = b"gstream\x01"
HEAD = struct.Struct("<8sQI")
MOST_DESCRIBED = 1 << 26  # bytes of a description: parameters may be long lists of vertices
MOST_COUNTED = 1 << 62  # a sequence number, or elements of an array
PIECE = 4 << 20  # bytes that are read and checked at once
PART = re.compile(r"(slot-[01])\.[0-9]{1,19}-[0-9]{5,9}")  # the name of a rank's file

NO_ROOM = np.empty(0, np.uint8), 0
Pieces = list[list[Any]]  # [name, first element, elements, CRC-32] of each piece of a file


class DamagedSlot(InputError):
    """A slot that is cut, altered, or none."""


class Share(NamedTuple):
    """What one rank has of an array: elements from number `first` on, of `total` that all ranks have together. Shares
    follow each other in the order of ranks."""

    values: np.ndarray
    first: int
    total: int

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        return self.total * self.values.itemsize


@dataclass
class Saved:
    """What a slot holds; its arrays stay in the file until they are asked for. older: why the newer slot could not be
    read, "" where this is it."""

    path: Path
    description: dict[str, Any]
    older: str = ""

    @property
    def shapes(self) -> dict[str, tuple[np.dtype, int]]:
        """Type and length of each array."""
        return {name: (_dtype(dtype), count) for name, dtype, count, _ in self.description["arrays"]}

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name. Raises DamagedSlot."""
        return self.read({name: np.empty(count, dtype) for name, (dtype, count) in self.shapes.items()})

    def read(self, into: dict[str, Any]) -> dict[str, Any]:
        """Fill these arrays, each as long as the slot's of its name, and shares of them. Raises DamagedSlot."""
        read_slot(self.path, into)
        return into

    def part(self, name: str, first: int, last: int) -> np.ndarray:
        """Elements [first, last) of an array, after `read` has checked all. Raises DamagedSlot."""
        description, begins = read_description(self.path)
        found = np.empty(last - first, self.shapes[name][0])
        for file, place, pieces in _files_of(self.path, description, begins):
            for key, begin, count, _ in pieces:
                size, low, high = self.shapes[key][0].itemsize, max(first, begin), min(last, begin + count)
                if key == name and low < high:
                    room = found[low - first : high - first].view(np.uint8)
                    try:
                        with open(file, "rb", buffering=0) as stream:
                            stream.seek(place + (low - begin) * size)
                            if _read_piece(stream, 0, len(room), room) is None:
                                raise DamagedSlot(f"{file} was cut")
                    except OSError as error:
                        raise _unread(file, error) from error
                place += count * size
        return found


def read_description(path: Path) -> tuple[dict[str, Any], int]:
    """(description, byte at which the arrays begin) of a slot whose size is right. Raises DamagedSlot."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(HEAD.size)
            if len(head) < HEAD.size or head[:8] != MAGIC:
                raise DamagedSlot(f"{path} is cut or no checkpoint")
            _, length, crc = HEAD.unpack(head)
            text = file.read(length) if length <= min(size, MOST_DESCRIBED) else b""
    except OSError as error:
        raise _unread(path, error) from error
    if crc32(text) != crc or not text:
        raise DamagedSlot(f"{path} fails its checksum")
    first = HEAD.size + length
    try:
        description = json.loads(text)
        described = sum(_dtype(dtype).itemsize * count for _, dtype, count, _ in description["arrays"])
        counts = [description["sequence"], *(count for _, _, count, _ in description["arrays"])]
        if any(type(count) is not int or not 0 <= count < MOST_COUNTED for count in counts):
            raise ValueError
        names = [name for name, _, _, _ in description["arrays"]]
        if any(type(name) is not str for name in names) or len(set(names)) < len(names):
            raise ValueError
        parts = _parts_of(description, path.name)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedSlot(f"{path} was written by something else") from None
    if size != first + (0 if parts else described):
        raise DamagedSlot(f"{path} was cut")
    for name, nbytes in parts.items():
        _check_size(path.with_name(name), nbytes)
    return description, first


def _parts_of(description: dict[str, Any], slot: str) -> dict[str, int]:
    """The files with the pieces of a slot's arrays, and their bytes. Raises ValueError unless the pieces of each array
    follow each other, in order of files, and make up all of it."""
    parts = description.get("parts", [])
    sizes = {name: _dtype(dtype).itemsize for name, dtype, _, _ in description["arrays"]}
    reached, found = dict.fromkeys(sizes, 0), dict[str, int]()
    for file, pieces in parts:
        named = PART.fullmatch(file)
        if named is None or named[1] != slot or file in found:
            raise ValueError
        found[file] = 0
        for name, first, count, _ in pieces:
            if type(first) is not int or type(count) is not int or count < 0 or first != reached[name]:
                raise ValueError
            reached[name] += count
            found[file] += count * sizes[name]
    if parts and any(reached[name] != count for name, _, count, _ in description["arrays"]):
        raise ValueError
    return found


def _check_size(path: Path, nbytes: int) -> None:
    """Raise DamagedSlot unless a part is there, with its bytes."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise _unread(path, error) from error
    if size != nbytes:
        raise DamagedSlot(f"{path} was cut")


def _unread(path: Path, error: OSError) -> GstreamError:
    """The error of a slot that can't be read: it may be whole where open files or memory ran out."""
    if shortage(error) is not None:
        return read_error(error, f"{path} can't be read", "")
    return DamagedSlot(f"{path} can't be read ({error.strerror})")


def _dtype(text: str) -> np.dtype:
    """The dtype of an array of plain numbers. Raises ValueError for others."""
    try:
        dtype = np.dtype(text) if isinstance(text, str) else None
    except SyntaxError:
        dtype = None
    if dtype is None or dtype.kind not in "fiu":
        raise ValueError
    return dtype


def read_slot(path: Path, into: Mapping[str, np.ndarray | Share]) -> dict[str, Any]:
    """The description of a slot, whose arrays are all checked; those that `into` has by name are filled, as far as a
    share goes. Raises DamagedSlot."""
    description, first = read_description(path)
    sizes = {name: _dtype(dtype).itemsize for name, dtype, _, _ in description["arrays"]}
    for name, _, count, _ in description["arrays"]:
        if name in into and into[name].nbytes != count * sizes[name]:
            raise DamagedSlot(f"{path} has changed")
    rooms = dict[str, tuple[np.ndarray, int]]()  # bytes, and the element from which they are
    for name, array in into.items():
        values, begins = (array.values, array.first) if isinstance(array, Share) else (array, 0)
        rooms[name] = values.view(np.uint8), begins
    for file, place, pieces in _files_of(path, description, first):
        try:
            with open(file, "rb", buffering=0) as stream:
                stream.seek(place)
                for name, begin, count, crc in pieces:
                    size, (room, at) = sizes[name], rooms.get(name, NO_ROOM)
                    first = (begin - at) * size
                    if _read_piece(stream, first, first + count * size, room) != crc:
                        raise DamagedSlot(f"{file} fails its checksum")
        except OSError as error:
            raise _unread(file, error) from error
    return description


def _files_of(path: Path, description: dict[str, Any], first: int) -> Iterator[tuple[Path, int, Pieces]]:
    """(file, byte at which its pieces begin, the pieces) of the files that hold a slot's arrays."""
    if description.get("parts"):
        for file, pieces in description["parts"]:
            yield path.with_name(file), 0, pieces
    else:
        yield path, first, [[name, 0, count, crc] for name, _, count, crc in description["arrays"]]


def _read_piece(stream: Any, begin: int, end: int, room: np.ndarray) -> int | None:
    """CRC-32 of the next end - begin bytes, which fill room[begin:end], as far as it goes; None where there are not so
    many. room: uint8[n]."""
    here, there = (min(max(cut, 0), len(room)) for cut in (begin, end))
    passed, found, at = np.empty(min(PIECE, end - begin - (there - here)), np.uint8), 0, begin
    while at < end:
        if here <= at < there:
            part = room[at : min(at + PIECE, there)]
        else:
            part = passed[: (here if at < here < there else end) - at]
        got = stream.readinto(part.data)
        if not got:
            return None
        found, at = crc32(part[:got], found), at + got
    return found
