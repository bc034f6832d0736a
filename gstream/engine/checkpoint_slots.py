"""A folder with two slots, of which each write replaces the older: the last state is there whatever ends a process.

    FOLDER/slot-0, FOLDER/slot-1      magic[8], u64 description bytes, u32 its CRC-32, description (JSON), arrays

The description is the caller's, with `sequence` (which slot is newer) and `arrays`: [name, dtype, elements, CRC-32] of
what follows it back to back. A slot is written as slot-N.partial, synced, renamed, and the folder synced, so that it is
old or complete at any moment; whatever the disk does to it later is found by a CRC, and the other slot is read instead.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.crc import crc32
from pagestore.errors import GstreamError, InputError, ResourceError, UsageError
from pagestore.faults import FAILING, disk_error, no_space, read_error, shortage
from pagestore.io import write_from
from pagestore.replacing import sync_folder

MAGIC = b"gstream\x01"
HEAD = struct.Struct("<8sQI")
MOST_DESCRIBED = 1 << 26  # bytes of a description: parameters may be long lists of vertices
MOST_COUNTED = 1 << 62  # a sequence number, or elements of an array
SLOTS = ("slot-0", "slot-1")
TRIAL_PIECE = 1 << 20  # bytes that a trial of the disk writes at once
PIECE = 4 << 20  # bytes that are read and checked at once
WRITTEN = "The checkpoint is written, but a power cut might take it: --resume goes on from the newest that is whole."


class DamagedSlot(InputError):
    """A slot that is cut, altered, or none."""


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

    def read(self, into: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Fill these arrays, each as long as the slot's of its name. Raises DamagedSlot."""
        read_slot(self.path, into)
        return into


class SlotFolder:
    """The two slots of `folder`, which is made where it is missing, and one process's at a time. Close it.

    Raises UsageError (another process has it; it can't be made or written), ResourceError (the disk is full or fails).
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self.folder = Path(folder)
        self._slots = [self.folder / name for name in SLOTS]
        self._lock, self._made, self._process = -1, not self.folder.is_dir(), os.getpid()
        self._damaged: set[Path] = set()  # slots whose arrays fail their checksums
        try:
            self.folder.mkdir(exist_ok=True)
            if self._made:
                sync_folder(self.folder.absolute().parent)
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            with suppress(OSError):
                if self._made:
                    self.folder.rmdir()
            if no_space(error) or shortage(error) or error.errno in FAILING:
                raise disk_error(error, f"--checkpoint {self.folder}") from error
            raise UsageError(
                f"--checkpoint {self.folder}: {error.strerror}. Name a folder, or a new one in a folder that exists."
            ) from error
        try:
            self._take_lock()
            self._sequence = max((number for number, _ in self._heads()[0]), default=0)
        except BaseException:
            self.close()
            raise

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"--checkpoint {self.folder}: another run writes its checkpoints there now. Wait for it, or name "
                "another folder."
            ) from None
        except OSError:  # a file system that locks no folders
            pass
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise UsageError(f"--checkpoint {self.folder}: the folder is not writable. Name another one.")
        for name in SLOTS:  # of a process that was killed as it wrote
            with suppress(OSError):
                os.unlink(f"{self.folder}/{name}.partial")

    def __enter__(self) -> SlotFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes have the folder; one that was made for this run, and holds nothing, goes."""
        if self._lock >= 0:
            with suppress(OSError):
                if self._made and os.getpid() == self._process:  # not a forked child
                    self.folder.rmdir()
            os.close(self._lock)
            self._lock = -1

    def newest(self) -> Saved | None:
        """What was written last and can be read; None where nothing was. Raises DamagedSlot where no slot is whole."""
        heads, damaged = self._heads()
        for _, path in sorted(heads, reverse=True):
            try:
                description = read_slot(path, {})
            except DamagedSlot as error:
                damaged.append(str(error))
                self._damaged.add(path)
                continue
            return Saved(path, description, "; ".join(damaged))
        if not damaged:
            return None
        raise DamagedSlot(
            f"--checkpoint {self.folder}: no checkpoint can be read: {'; '.join(damaged)}. Start afresh: pass --force "
            "instead of --resume."
        )

    def description(self) -> dict[str, Any] | None:
        """What the newest slot says of itself, its arrays unread; None where none says anything."""
        heads, _ = self._heads()
        return read_description(max(heads)[1])[0] if heads else None

    def _heads(self) -> tuple[list[tuple[int, Path]], list[str]]:
        """(sequence, path) of the slots with a whole description, and what is wrong with the others."""
        heads, damaged = [], []
        for path in self._slots:
            if os.path.lexists(path):
                try:
                    heads.append((read_description(path)[0]["sequence"], path))
                except DamagedSlot as error:
                    damaged.append(str(error))
        return heads, damaged

    def write(self, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
        """Replace the older slot, or one that can't be read; returns the bytes written.

        On return it is on the disk. Raises ResourceError (full disk, quota, a failing disk) or UsageError (rights);
        the slots are then as they were, but where the folder alone could not be synced.
        """
        path, replaced = self._next(), False
        flat = {name: np.ascontiguousarray(array).reshape(-1) for name, array in arrays.items()}
        entries = [[name, a.dtype.str, len(a), crc32(a.view(np.uint8))] for name, a in flat.items()]
        sequence = self._sequence + 1
        text = json.dumps({**description, "sequence": sequence, "arrays": entries}).encode()
        partial = path.with_name(path.name + ".partial")
        offset = HEAD.size + len(text)
        try:
            file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                write_from(file, 0, np.frombuffer(HEAD.pack(MAGIC, len(text), crc32(text)) + text, np.uint8), str(path))
                for array in flat.values():
                    write_from(file, offset, array.view(np.uint8), str(path))
                    offset += array.nbytes
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(partial, path)
            replaced = True
            os.fsync(self._lock)
        except BaseException as error:
            with suppress(OSError):
                partial.unlink()
            told = disk_error(error, str(path)) if isinstance(error, OSError) else error
            if isinstance(told, ResourceError):
                raise ResourceError(f"{told.line} {WRITTEN if replaced else self._left()}") from error
            if told is error:
                raise
            raise told from error
        self._sequence = sequence
        self._damaged.discard(path)
        return offset

    def _left(self) -> str:
        """What is still there once a slot could not be written, and how to go on, for messages."""
        try:
            found, unread = self._heads()
        except GstreamError:  # which of them are whole can't be told now
            return "Checkpoints before are as they were: --resume goes on from the last."
        heads = [number for number, path in found if path not in self._damaged]
        if not heads and unread:
            return f"Whether a checkpoint in {self.folder} is whole can't be told now: --resume says so."
        if not heads:
            return f"{self.folder} holds no checkpoint yet."
        which = "The checkpoint before is" if len(heads) == 1 else f"The {len(heads)} checkpoints before are"
        return f"{which} whole in {self.folder}: the same command with --resume goes on from there."

    def check_room(self, nbytes: int) -> None:
        """Raise ResourceError where the disk has no room for slots of `nbytes`."""
        there = sum(path.stat().st_size for path in self._slots if path.is_file())
        needed = max(0, 3 * nbytes - there)  # a slot is written beside both, then replaces the older
        try:
            total, _, free = shutil.disk_usage(self.folder)
        except OSError:  # writing tells
            return
        if total and free < needed:  # some network file systems say 0
            raise ResourceError(
                f"--checkpoint {self.folder}: {free:,} bytes are free there; two checkpoints of {nbytes:,} bytes, and "
                f"a third while it is written, take {needed:,} more. Free some space, or name a folder on another disk."
            )

    def write_speed(self, nbytes: int) -> float:
        """Bytes a second of a trial that writes and syncs `nbytes` here; infinite if it fails, as `write` then says."""
        path = self.folder / f"{SLOTS[0]}.partial"  # which goes with the next run, too, if this one dies
        began = time.monotonic()
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                piece = np.frombuffer(os.urandom(min(nbytes, TRIAL_PIECE)), np.uint8)  # zeros may be packed
                for first in range(0, nbytes, TRIAL_PIECE):
                    write_from(file, first, piece[: nbytes - first], str(path))
                os.fsync(file)
            finally:
                os.close(file)
        except (OSError, GstreamError):
            return math.inf
        finally:
            with suppress(OSError):
                path.unlink()
        return max(nbytes, 1) / max(time.monotonic() - began, 1e-9)

    def _next(self) -> Path:
        """The slot that a write replaces: never the only one that can be read."""
        heads = {path: number for number, path in self._heads()[0] if path not in self._damaged}
        return min(self._slots, key=lambda path: heads.get(path, -1))

    def clear(self) -> None:
        """Remove what an earlier run left. Raises UsageError or ResourceError."""
        try:
            for path in self._slots:
                path.unlink(missing_ok=True)
            os.fsync(self._lock)
        except OSError as error:
            raise disk_error(error, str(self.folder)) from error


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
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedSlot(f"{path} was written by something else") from None
    if size != first + described:
        raise DamagedSlot(f"{path} was cut")
    return description, first


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


def read_slot(path: Path, into: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The description of a slot, whose arrays are all checked; those that `into` has by name are filled. Raises
    DamagedSlot."""
    description, first = read_description(path)
    piece = np.empty(PIECE, np.uint8)
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(first)
            for name, dtype, count, crc in description["arrays"]:
                left = _dtype(dtype).itemsize * count
                room = into[name].view(np.uint8) if name in into else None
                if room is not None and len(room) != left:
                    raise DamagedSlot(f"{path} has changed")
                found = 0
                while left:
                    part = piece[: min(left, PIECE)] if room is None else room[-left:][:PIECE]
                    got = file.readinto(part.data)
                    if not got:
                        raise DamagedSlot(f"{path} fails its checksum")
                    found, left = crc32(part[:got], found), left - got
                if found != crc:
                    raise DamagedSlot(f"{path} fails its checksum")
    except OSError as error:
        raise _unread(path, error) from error
    return description
