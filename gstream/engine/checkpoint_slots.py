"""A folder with two slots, of which each write replaces the older: the last state is there whatever ends a process.

    FOLDER/slot-0, FOLDER/slot-1        their files: gstream.engine.slot_files

A slot is written as slot-N.partial, synced, renamed, and the folder synced, so that it is old or complete at any
moment; whatever the disk does to it later is found by a CRC, and the other slot is read instead. Files of ranks
(gstream.engine.rank_slots) come before the slot that names them, and go once none does.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gstream.engine.slot_files import HEAD, MAGIC, PART, DamagedSlot, Saved, read_description, read_slot
from pagestore.crc import crc32
from pagestore.errors import GstreamError, ResourceError, UsageError
from pagestore.faults import FAILING, disk_error, no_space, shortage
from pagestore.io import write_from
from pagestore.replacing import sync_folder

SLOTS = ("slot-0", "slot-1")
TRIAL_PIECE = 1 << 20  # bytes that a trial of the disk writes at once
WRITTEN = "The checkpoint is written, but a power cut might take it: --resume goes on from the newest that is whole."


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
        self._remove_parts()

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

    def _remove_parts(self) -> None:
        """Remove files of ranks that no slot names, but for those of a slot that can't be read."""
        found, unread = set[str](), set[str]()
        for path in self._slots:
            if os.path.lexists(path):
                try:
                    found |= {file for file, _ in read_description(path)[0].get("parts", [])}
                except GstreamError:
                    unread.add(path.name)
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in list(entries):
                named = PART.fullmatch(entry.name)
                if named is not None and named[1] not in unread and entry.name not in found:
                    with suppress(OSError):
                        os.unlink(entry.path)

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
        flat = {name: np.ascontiguousarray(array).reshape(-1) for name, array in arrays.items()}
        entries = [[name, a.dtype.str, len(a), crc32(a.view(np.uint8))] for name, a in flat.items()]
        return self.write_slot({**description, "arrays": entries, "parts": []}, list(flat.values()))

    def next_place(self) -> tuple[str, int]:
        """(name, sequence) of the slot that is written next: never the only one that can be read."""
        heads = {path: number for number, path in self._heads()[0] if path not in self._damaged}
        return min(self._slots, key=lambda path: heads.get(path, -1)).name, self._sequence + 1

    def write_slot(self, description: Mapping[str, Any], follow: Sequence[np.ndarray]) -> int:
        """As `write`, with a description that says where the arrays are. follow: arrays that come after it."""
        (name, sequence), replaced = self.next_place(), False
        path = self.folder / name
        text = json.dumps({**description, "sequence": sequence}).encode()
        partial = path.with_name(path.name + ".partial")
        offset = HEAD.size + len(text)
        try:
            file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                write_from(file, 0, np.frombuffer(HEAD.pack(MAGIC, len(text), crc32(text)) + text, np.uint8), str(path))
                for array in follow:
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
                raise ResourceError(f"{told.line} {WRITTEN if replaced else self.left()}") from error
            if told is error:
                raise
            raise told from error
        self._sequence = sequence
        self._damaged.discard(path)
        self._remove_parts()
        return offset

    def left(self) -> str:
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
        with os.scandir(self.folder) as entries:
            names = {path.name for path in self._slots}
            there = sum(entry.stat().st_size for entry in entries if entry.name in names or PART.fullmatch(entry.name))
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

    def sync(self) -> None:
        """Have the names of all files of the folder on the disk. Raises OSError."""
        os.fsync(self._lock)

    def clear(self) -> None:
        """Remove what an earlier run left. Raises UsageError or ResourceError."""
        try:
            for path in self._slots:
                path.unlink(missing_ok=True)
            self._remove_parts()
            os.fsync(self._lock)
        except OSError as error:
            raise disk_error(error, str(self.folder)) from error
