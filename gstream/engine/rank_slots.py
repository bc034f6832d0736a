"""Slots of checkpoints that ranks write together: a file a rank, and then the slot that names them all.

    FOLDER/slot-N.SEQUENCE-RANK     each rank: its share of each array, synced
    FOLDER/slot-N                   the first rank: by rename, once all have told their checksums

All ranks make the same calls. One process reads these slots, and ranks, of any number, read those of one process:
gstream.engine.slot_files. A share is a range of an array's elements, as ranks hold whole arrays, or a Share.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gstream.devices.ranks import Ranks
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.slot_files import Pieces, Saved, Share
from pagestore.crc import crc32
from pagestore.errors import ResourceError, UsageError
from pagestore.faults import disk_error
from pagestore.io import write_from


class RankSlots:
    """A SlotFolder of all ranks: the first has it, the others see its files. Close it. Raises, on all ranks, as
    SlotFolder does, and UsageError where a rank does not see the folder."""

    def __init__(self, folder: str | os.PathLike, ranks: Ranks) -> None:
        self.folder, self._ranks = Path(folder), ranks
        self._own: SlotFolder | None = None
        ranks.by_first(self._open)
        seen = ranks.everybody(self.folder.is_dir())
        if not all(seen):
            self.close()
            raise self._unseen(seen.index(False), "the first rank's folder")

    def _open(self) -> None:
        self._own = SlotFolder(self.folder)

    def _unseen(self, rank: int, what: str) -> UsageError:
        return UsageError(
            f"--checkpoint {self.folder}: {what} is not seen by rank {rank}. Name a folder on a disk that all ranks "
            "share."
        )

    @property
    def _slots(self) -> SlotFolder:
        """Of the first rank."""
        assert self._own is not None
        return self._own

    def __enter__(self) -> RankSlots:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """As SlotFolder's."""
        if self._own is not None:
            self._own.close()

    def newest(self) -> Saved | None:
        """As SlotFolder's, on all ranks."""
        found: Saved | None = self._ranks.by_first(lambda: self._slots.newest())
        return found

    def description(self) -> dict[str, Any] | None:
        """As SlotFolder's, on all ranks."""
        found: dict[str, Any] | None = self._ranks.by_first(lambda: self._slots.description())
        return found

    def check_room(self, nbytes: int) -> None:
        """As SlotFolder's, on all ranks."""
        self._ranks.by_first(lambda: self._slots.check_room(nbytes))

    def write_speed(self, nbytes: int) -> float:
        """As SlotFolder's, for the first rank, which says when a checkpoint is due."""
        return self._slots.write_speed(nbytes)

    def clear(self) -> None:
        """As SlotFolder's, on all ranks."""
        self._ranks.by_first(lambda: self._slots.clear())

    def write(self, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray | Share]) -> int:
        """As SlotFolder's, on all ranks, of which each writes its share; the bytes of all."""
        ranks = self._ranks
        name, sequence = ranks.by_first(lambda: self._slots.next_place())
        flat = {key: _share_of(array, ranks) for key, array in arrays.items()}
        part = self.folder / part_name(name, sequence, ranks.rank)
        try:
            parts = self._parts(part, flat)
            entries = [[key, share.values.dtype.str, share.total, 0] for key, share in flat.items()]
            named = [[part_name(name, sequence, rank), pieces] for rank, pieces in enumerate(parts)]
            described = {**description, "arrays": entries, "parts": named}
            written: int = ranks.by_first(lambda: self._name(described))
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
        return written + sum(share.nbytes for share in flat.values())

    def _parts(self, part: Path, flat: Mapping[str, Share]) -> list[Pieces]:
        """What each rank has written to its file."""
        try:
            return self._ranks.together(lambda: _write_part(part, flat))
        except (ResourceError, UsageError) as error:
            left = self._ranks.by_first(lambda: self._slots.left())
            raise type(error)(f"{error.line} {left}") from error

    def _name(self, description: dict[str, Any]) -> int:
        """Write the slot that names what ranks wrote. Raises UsageError where the first rank does not see it all."""
        for rank, (name, _) in enumerate(description["parts"]):
            if not (self.folder / name).is_file():
                raise self._unseen(0, f"what rank {rank} wrote")
        with suppress(OSError):  # the write that follows says what is wrong
            self._slots.sync()
        return self._slots.write_slot(description, [])


def part_name(slot: str, sequence: int, rank: int) -> str:
    """The name of a rank's file."""
    return f"{slot}.{sequence}-{rank:05}"


def _share_of(array: np.ndarray | Share, ranks: Ranks) -> Share:
    """What this rank writes of an array, flat."""
    if isinstance(array, Share):
        return array
    flat = np.ascontiguousarray(array).reshape(-1)
    first, last = (len(flat) * number // ranks.size for number in (ranks.rank, ranks.rank + 1))
    return Share(flat[first:last], first, len(flat))


def _write_part(path: Path, flat: Mapping[str, Share]) -> Pieces:
    """Write a rank's share of each array; on return it is on the disk. Raises UsageError or ResourceError."""
    pieces, offset = [], 0
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            for name, (values, first, _) in flat.items():
                share = values.view(np.uint8)
                write_from(file, offset, share, str(path))
                pieces.append([name, first, len(values), crc32(share)])
                offset += share.nbytes
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise disk_error(error, str(path)) from error
    return pieces
