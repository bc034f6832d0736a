"""Conversions to several folders: what they refuse, what they leave, and whose stripes they touch."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pagestore import io as store_io
from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.convert import estimate as estimates
from pagestore.convert.estimate import estimate
from pagestore.errors import ResourceError, UsageError
from pagestore.generate import rmat
from pagestore.stripes import stripes_of
from pagestore.verify import verify
from tests.torture.stripes import conversion, disks, files_of, own_files


@pytest.mark.parametrize(
    ("stripe", "words"),
    [
        (["a", "nowhere"], r"--stripe \S+/nowhere: no such folder\. Make it first, on a disk of its own\."),
        (["a", "./b/../a"], r"--stripe \S+/a: is named twice\. Name each folder once\."),
        (["a", "link"], r"--stripe \S+/link: is named twice"),
        (["a", ""], r"--stripe: a folder has no name\. Pass folders as --stripe A,B\."),
        ([f"{number}" for number in range(65)], r"--stripe: 65 folders; the limit is 64\."),
    ],
)
def test_folders_that_can_not_be(tmp_path, monkeypatch, stripe, words):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(UsageError, match=words):
        conversion(tmp_path, stripe=stripe)()
    assert files_of(tmp_path) <= {"link"}


@pytest.mark.parametrize("options", [{"stripe": ["a"]}, {"stripe": "a", "stripe_pages": None}, {"stripe": ["a", "."]}])
def test_one_folder_and_the_store_s_own(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    conversion(tmp_path, **options)()
    assert verify("graph.gs").ok and files_of(tmp_path) == own_files(tmp_path)


def test_more_disks_than_pages(tmp_path):
    conversion(tmp_path, 3, stripe_pages=100)()
    with open_store(tmp_path / "graph.gs") as store:
        assert {stripe.extents["topology/out/pages"].shape[0] for stripe in store.stripes} == {0, 1}
    assert verify(tmp_path / "graph.gs").ok


def test_no_edges_at_all(tmp_path):
    conversion(tmp_path, 0)()
    assert verify(tmp_path / "graph.gs").ok


def test_another_store_s_stripes_are_left_alone(tmp_path):
    """Two stores of one name, of the same edges, over the same folders: the second is refused."""
    shared = disks(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    conversion(tmp_path / "one", stripe=shared)()
    before = files_of(tmp_path)
    with pytest.raises(UsageError, match=r"0\.stripe: is there already, and no stripe of \S+/two/graph\.gs\. Remove"):
        conversion(tmp_path / "two", stripe=shared)()
    assert files_of(tmp_path) == before
    assert verify(tmp_path / "one" / "graph.gs", stripes=shared).ok
    conversion(tmp_path / "two", 500, stripe=shared)()
    assert verify(tmp_path / "two" / "graph.gs", stripes=shared).ok, "other edges have stripes of other names"
    conversion(tmp_path / "two", 700, stripe=shared)()
    assert verify(tmp_path / "one" / "graph.gs", stripes=shared).ok
    others, _ = stripes_of(tmp_path / "two" / "graph.gs", shared)
    assert files_of(tmp_path) == before | {"two/graph.gs", *(os.path.relpath(name, tmp_path) for name in others)}


def test_stripes_of_a_replaced_store_that_are_elsewhere_are_told_of(tmp_path):
    (tmp_path / "store").mkdir()
    path, shared = tmp_path / "store" / "graph.gs", disks(tmp_path)
    conversion(tmp_path / "store", stripe=shared)()
    names = [os.path.basename(name) for name in stripes_of(path, shared)[0]]
    report = convert(rmat(4, 2, 1), path, ConvertOptions(page_bytes=4096))
    assert report.notes == [
        f"{path}: stripes of the store that is replaced were not found; remove them where they are: {', '.join(names)}"
    ]
    assert {os.path.basename(name) for name in files_of(tmp_path)} == {"graph.gs", *names}


@pytest.mark.parametrize("replaces", [False, True])
def test_a_disk_that_is_full(tmp_path, monkeypatch, replaces):
    """Of a stripe: the store of before stays whole, nothing else is left."""
    if replaces:
        conversion(tmp_path, 3000)()
    disks(tmp_path)
    before, write, calls = files_of(tmp_path), store_io.write_from, []

    def full(fd, offset, data, where):
        calls.append(where)
        if where.endswith("1.stripe.partial") and len(calls) > 20:
            raise ResourceError(f"{where}: no space left. Free some space, or write to another disk.")
        write(fd, offset, data, where)

    monkeypatch.setattr("pagestore.partialfile.write_from", full)
    with pytest.raises(ResourceError, match=r"disk1/\S+1\.stripe\.partial: no space left"):
        conversion(tmp_path)()
    assert files_of(tmp_path) == before
    assert not replaces or verify(tmp_path / "graph.gs").ok


@pytest.mark.covering(1)
@pytest.mark.parametrize("replaces", [None, 3000, 4000], ids=["new", "other", "equal"])
@pytest.mark.parametrize("failing", range(8))
def test_a_rename_or_sync_that_fails(tmp_path, monkeypatch, replaces, failing):
    """At the end of a conversion: the store is the old one or the new one, and has its stripes."""
    if replaces is not None:
        conversion(tmp_path, replaces)()
    disks(tmp_path)
    fsync, calls = os.fsync, []

    def fail(fd):
        calls.append(fd)
        if len(calls) == failing + 1:
            raise OSError(errno.EIO, "Input/output error")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ResourceError):
        conversion(tmp_path)()
    monkeypatch.undo()
    path = tmp_path / "graph.gs"
    if failing == 7:  # the sync of the folder after the last rename
        assert path.exists()
    assert files_of(tmp_path) == (own_files(tmp_path) if path.exists() else set())
    assert path.exists() == (replaces is not None or failing == 7)
    assert not path.exists() or verify(path).ok


def test_room_is_asked_for_on_every_disk(tmp_path, monkeypatch):
    """Each stripe's disk needs its share, the store's and the temporary files' theirs."""
    work, places = tmp_path / "work", disks(tmp_path)
    work.mkdir()
    options = ConvertOptions(memory_bytes=16 << 20, page_bytes=1 << 16, workdir=work, stripe=tuple(places))
    monkeypatch.setattr(estimates, "same_disk", lambda first, second: first == second)
    found = estimate(rmat(16, 16, 1), tmp_path / "graph.gs", options)
    needs = {disk.folder: disk.needed for disk in found.disks}
    assert set(needs) == {str(tmp_path), str(work), *map(str, places)} and found.stripes == len(places)
    assert needs[str(work)] == found.work_bytes and len({needs[str(place)] for place in places}) == 1
    assert abs(found.store_bytes - needs[str(tmp_path)] - 3 * needs[str(places[0])]) <= 3
    monkeypatch.setattr(estimates, "free_bytes", lambda folder: 1000 if folder == places[2] else 1 << 40)
    with pytest.raises(ResourceError, match=rf"{places[2]}: the conversion needs [\d,]+ bytes there; 1,000 are free"):
        convert(rmat(16, 16, 1), tmp_path / "graph.gs", options)
    assert files_of(tmp_path) == set()


def test_the_description_of_where_it_was_written_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    conversion(tmp_path, stripe=["a"])()
    with open_store("graph.gs") as store:
        assert store.meta.provenance["options"]["stripe"] == [str(tmp_path / "a")]
        assert store.meta.stripes[0].startswith("a/graph.gs.")
