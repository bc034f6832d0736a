"""Two slots: whatever happens to one, the other is read; a kill or a full disk leaves both as they were."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gstream.engine.checkpoint import Keeper
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.slot_files import HEAD, DamagedSlot
from gstream.options.stopping import Every
from pagestore.crc import crc32
from pagestore.errors import ResourceError, UsageError


def write(slots: SlotFolder, number: int) -> int:
    return slots.write({"number": number}, {"value": np.full(9, number, np.float32), "none": np.zeros(0, np.uint64)})


def number_in(folder: Path) -> int | None:
    with SlotFolder(folder) as slots:
        found = slots.newest()
    if found is None:
        return None
    number = found.description["number"]
    assert found.arrays["value"].tolist() == [number] * 9 and len(found.arrays["none"]) == 0
    return number


def test_writes_alternate_and_the_newest_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert number_in(folder) is None
    for number in range(5):
        with SlotFolder(folder) as slots:
            assert write(slots, number) == (folder / f"slot-{number % 2}").stat().st_size
        assert number_in(folder) == number
    assert sorted(os.listdir(folder)) == ["slot-0", "slot-1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """slot-0 holds number 1, slot-1 the newer number 2."""
    with SlotFolder(tmp_path / "kept") as slots:
        write(slots, 1)
        write(slots, 2)
    return tmp_path / "kept"


def test_every_flipped_bit_and_every_length_falls_back_to_the_older(folder: Path) -> None:
    newer = folder / "slot-1"
    whole = newer.read_bytes()
    damaged = [whole[:length] for length in range(len(whole))] + [whole + b"\0"]
    for bit in range(8 * len(whole)):
        damaged.append(whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
    for data in damaged:
        newer.write_bytes(data)
        assert number_in(folder) == 1
    newer.write_bytes(whole)
    assert number_in(folder) == 2


def test_both_damaged_is_an_error_that_says_so(folder: Path) -> None:
    (folder / "slot-0").write_bytes(b"")
    (folder / "slot-1").write_bytes(b"not a checkpoint at all")
    with SlotFolder(folder) as slots, pytest.raises(DamagedSlot) as caught:
        slots.newest()
    text = str(caught.value)
    assert text.startswith(f"--checkpoint {folder}: no checkpoint can be read: {folder}/slot-0 is cut or no checkpoint")
    assert text.endswith("Start afresh: pass --force instead of --resume.") and "slot-1" in text


def test_the_slot_that_fails_its_checksum_is_replaced_first(folder: Path) -> None:
    data = bytearray((folder / "slot-1").read_bytes())
    data[-1] ^= 1
    (folder / "slot-1").write_bytes(data)
    older = (folder / "slot-0").read_bytes()
    with SlotFolder(folder) as slots:
        found = slots.newest()
        assert found is not None and found.description["number"] == 1 and "slot-1 fails its checksum" in found.older
        write(slots, 3)
    assert (folder / "slot-0").read_bytes() == older
    assert number_in(folder) == 3


@pytest.mark.parametrize(
    "text",
    [
        b"[]", b"{}", b"null", b'{"sequence": 1, "arrays": [["value", "O", 3, 0]]}', b"\xff\xfe",
        b'{"sequence": 1, "arrays": [["value", "<f4", -3, 0], ["more", "<f4", 3, 0]]}',
        b'{"sequence": 1, "arrays": [["value", "<f4", 99999999999999, 0]]}', b'{"sequence": "a", "arrays": []}',
        b'{"sequence": 1, "arrays": [["value"]]}', b"[" * 100_000, b'{"sequence": 1.5, "arrays": []}',
        b'{"sequence": NaN, "arrays": []}', b'{"sequence": true, "arrays": []}',
        b'{"sequence": 1, "arrays": [["value", "<f4", 0.0, 0]]}', b'{"sequence": 1, "arrays": [[[], "<f4", 0, 0]]}',
        b'{"sequence": 1, "arrays": [["value", null, 0, 0]]}', b'{"sequence": 1, "arrays": [["value", "<i8,(", 0, 0]]}',
        b'{"sequence": 1, "arrays": [["value", "<f4", 0, 0], ["value", "<f4", 0, 0]]}',
    ],
)  # fmt: skip
def test_descriptions_that_lie(folder: Path, text: bytes) -> None:
    (folder / "slot-1").write_bytes(HEAD.pack(b"gstream\x01", len(text), crc32(text)) + text)
    assert number_in(folder) == 1


def test_one_run_at_a_time(folder: Path) -> None:
    with SlotFolder(folder), pytest.raises(UsageError, match="another run writes its checkpoints there now"):
        SlotFolder(folder)
    with SlotFolder(folder) as slots:
        write(slots, 3)


def test_what_a_kill_left_half_written_goes(folder: Path) -> None:
    (folder / "slot-0.partial").write_bytes(b"half")
    assert number_in(folder) == 2
    assert sorted(os.listdir(folder)) == ["slot-0", "slot-1"]


@pytest.mark.parametrize("call", ["open", "pwritev", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_disk_that_fails_leaves_both_slots(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}

    def fail(*arguments, **named):  # type: ignore[no-untyped-def]
        raise OSError(code, os.strerror(code))

    with SlotFolder(folder) as slots:
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(ResourceError, match="slot-0: "):
                write(slots, 3)
        assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before
        write(slots, 3)
    assert number_in(folder) == 3


def test_a_disk_without_room_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments, **named):  # type: ignore[no-untyped-def]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "mkdir", fail)
    with pytest.raises(ResourceError, match=f"--checkpoint {tmp_path}/kept: no space left. Free some space"):
        SlotFolder(tmp_path / "kept")


def test_folders_that_can_not_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "no" / "such"):
        with pytest.raises(UsageError, match=f"--checkpoint {path}: .*Name a folder"):
            SlotFolder(path)
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_system_that_locks_no_folders_is_used_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", fail)
    with SlotFolder(folder) as slots:
        write(slots, 3)
    assert number_in(folder) == 3


def test_a_folder_that_can_not_be_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before the run, let go for others, and gone again where it was made for this one."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        for path in (folder, tmp_path / "new"):
            with pytest.raises(UsageError, match=f"--checkpoint {path}: the folder is not writable. Name another one."):
                SlotFolder(path)
    assert number_in(folder) == 2 and not (tmp_path / "new").exists()


def test_closing_twice_closes_once(folder: Path) -> None:
    """The number of the handle may be another file's by then."""
    with SlotFolder(folder) as slots:
        slots.close()
        other = os.open(folder / "slot-0", os.O_RDONLY)
    os.fstat(other)
    os.close(other)


def test_a_full_disk_says_what_is_left_and_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is left is there."""
    left = (
        "holds no checkpoint yet.",
        "The checkpoint before is whole in",
        "The 2 checkpoints before are whole in",
    )
    folder, real = tmp_path / "kept", os.fsync

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with SlotFolder(folder) as slots:
        for number, said in enumerate(left):
            monkeypatch.setattr(os, "fsync", full)
            with pytest.raises(ResourceError, match=said) as caught:
                write(slots, 9)
            monkeypatch.setattr(os, "fsync", real)
            assert "no space left" in str(caught.value)
            assert ("--resume goes on from there." in str(caught.value)) == (number > 0)
            write(slots, number)
    assert number_in(folder) == 2


def test_room_for_three_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot is written beside the two that are there."""
    size = (folder / "slot-0").stat().st_size
    needed = 2 * size - (folder / "slot-1").stat().st_size
    usage = shutil.disk_usage(folder)
    for free in (needed, needed - 1):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        with SlotFolder(folder) as slots:
            if free == needed:
                slots.check_room(size)
                continue
            with pytest.raises(
                ResourceError, match=rf"--checkpoint .*kept: {free} bytes are free there; two checkpoints"
            ):
                slots.check_room(size)


def test_a_folder_that_is_made_is_synced_into_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.readlink(f"/proc/self/fd/{file}")), real(file)))
    for _ in range(2):  # the second time it is there
        with SlotFolder(tmp_path / "kept") as slots:
            write(slots, 1)
        assert synced.count(str(tmp_path)) == 1


def test_a_slot_that_can_not_be_opened_for_want_of_handles_is_not_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SlotFolder(folder) as slots:

        def fail(*arguments: object, **named: object) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        with monkeypatch.context() as patch:
            patch.setattr("builtins.open", fail)
            with pytest.raises(ResourceError, match="too many open files"):
                slots.newest()
        assert slots.newest() is not None


def test_the_first_checkpoint_waits_for_what_it_will_take(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.6 GB at 100 MB/s are 16 s, a twentieth of 320 s; one whose trial failed is tried at once, and says why."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for speed, waits in ((1e8, 320.0), (1e12, 60.0), (math.inf, 60.0)):
        with SlotFolder(folder) as slots:
            monkeypatch.setattr(slots, "write_speed", lambda size, speed=speed: speed)
            keeper = Keeper(slots, {}, Every(), None, bytes=1_600_000_000)
            keeper.begin(0)
            now[0] += waits - 0.1
            assert not keeper._due(5)
            now[0] += 0.2
            assert keeper._due(5)


def test_how_fast_a_folder_is_written(folder: Path) -> None:
    with SlotFolder(folder) as slots:
        assert 1e3 < slots.write_speed(1 << 20) < 1e12
        assert sorted(os.listdir(folder)) == ["slot-0", "slot-1"]


@pytest.mark.parametrize("work_s", [1.0, 59.0, 63.0, 124.0, 400.0, 5000.0])
@pytest.mark.parametrize("gather_s", [0.0, 3.0])
def test_checkpoints_take_a_twentieth_of_any_run_at_most(monkeypatch, tmp_path, work_s, gather_s):
    """Bringing the state from devices counts, and so does the one at the end, left out where it is too much."""
    now = [500.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def take(seconds):
        now[0] += seconds

    state = SimpleNamespace(superstep=0, numbers=dict, arrays=dict)
    with SlotFolder(tmp_path) as slots:
        monkeypatch.setattr(slots, "write", lambda described, arrays: take(3.0) or 1)
        monkeypatch.setattr(slots, "write_speed", lambda nbytes: nbytes / 3.0)
        keeper = Keeper(slots, {}, Every(), None, bytes=1000)
        run = SimpleNamespace(state=lambda superstep: take(gather_s) or state)
        keeper.begin(0)
        for superstep in range(1, 101):
            take(work_s / 100)
            state.superstep = superstep
            keeper.between(run, superstep, superstep == 100)
        spent = now[0] - 500.0 - work_s
    assert spent == pytest.approx(keeper.kept.seconds, abs=1e-6)
    assert spent == pytest.approx((3 + gather_s) * keeper.kept.written, abs=1e-6)
    assert spent <= 0.05 * (now[0] - 500.0) + gather_s + 1e-6  # the first is bound by what a trial of the disk says
    assert (keeper.kept.written > 0) == (work_s > 60)
