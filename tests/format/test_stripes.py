"""Stores in several files: the same pages as in one; files that are missing, swapped, cut, damaged, others'."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagestore
from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.crc import page_crc
from pagestore.errors import StoreError, UsageError
from pagestore.memory import ArraySource, convert_arrays
from pagestore.meta import META_BYTES, decode_meta, encode_meta, opened_seal, sealed
from pagestore.spread import Spread
from pagestore.store import Store
from pagestore.verify import verify
from tests.decoded import decode_edges

STRIPES = 3
STRETCH = 2  # pages


def edges(seed: int = 1) -> ArraySource:
    """A weighted graph with a hub, whose list takes large pages."""
    numbers = np.random.default_rng(seed)
    source, target = numbers.integers(0, 900, (2, 12_000))
    source[:4000] = 5
    return ArraySource(source, target, numbers.integers(1, 99, 12_000).astype(np.float64))


def striped(folder: Path, seed: int = 1, name: str = "graph.gs", **options) -> tuple[Path, list[Path]]:
    """A striped store in `folder`, its stripes in folders below it, and their paths."""
    places = [folder / f"disk{number}" for number in range(STRIPES)]
    for place in places:
        place.mkdir(exist_ok=True)
    given = {"page_bytes": 4096, "stripe": places, "stripe_pages": STRETCH, **options}
    report = convert(edges(seed), folder / name, ConvertOptions(**given))
    return folder / name, [Path(path) for path in report.stripes]


@pytest.fixture
def made(tmp_path):
    return striped(tmp_path)


def contents(store: Store) -> list[np.ndarray]:
    return [part for name in store.meta.topologies for part in decode_edges(store.topology(name)) if part is not None]


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 200), st.integers(0, 60))
def test_every_page_has_a_place_of_its_own(files, stretch, pages, first):
    """Rows of a file are its pages in order, without gaps; each N stretches from a multiple of N lie in N files."""
    spread = Spread(files, stretch)
    places = [(run.file, run.row + at) for run in spread.runs(0, pages) for at in range(run.pages)]
    assert len(set(places)) == pages
    for file, held in enumerate(spread.rows(pages)):
        assert sorted(row for at, row in places if at == file) == list(range(held))
    assert [file for file, _ in places] == spread.files_of(np.arange(pages)).tolist()
    first = min(first, pages)
    again = [(run.file, run.row + at) for run in spread.runs(first, pages - first) for at in range(run.pages)]
    assert again == places[first:]
    for begin in range(pages // stretch // files):
        assert {spread.file_of(begin * files + at) for at in range(files)} == set(range(files))


def test_the_order_of_files_is_hashed():
    """Pages that are left out in a pattern, here all but each Nth stretch, lie on all disks alike."""
    for files in (2, 3, 4, 7):
        spread = Spread(files, 1)
        counts = Counter(spread.file_of(stretch) for stretch in range(0, 1000 * files, files))
        assert len(counts) == files and min(counts.values()) > 1000 / files * 0.8


@pytest.mark.parametrize("options", [{}, {"order": "degree", "columns": 8}, {"directed": False}, {"weights": False}])
def test_the_same_pages_as_in_one_file(tmp_path, options):
    path, stripes = striped(tmp_path, **options)
    one = tmp_path / "one.gs"
    convert(edges(), one, ConvertOptions(page_bytes=4096, **options))
    with open_store(path) as store, open_store(one) as plain:
        assert store.meta.needs == ["striped"] and store.meta.version == 3
        assert [Path(stripe.file.path) for stripe in store.stripes] == stripes
        for mine, other in zip(contents(store), contents(plain), strict=True):
            np.testing.assert_array_equal(mine, other)
        for name in store.meta.topologies:
            assert np.array_equal(store.topology(name).directory, plain.topology(name).directory), "CRCs, too"
        assert store.file_bytes == sum(os.stat(file).st_size for file in (path, *stripes))
        assert all(stripe.extents["topology/out/pages"].shape[0] > STRETCH for stripe in store.stripes)
    assert verify(path).ok and verify(path).bytes_read == verify(one).bytes_read


def test_pages_lie_where_format_md_says(made):
    """By HDF5 alone, and the rule as it is written there."""
    import h5py

    path, stripes = made
    text = (Path(pagestore.__file__).parent / "FORMAT.md").read_text()
    shown = [int(number) for number in re.search(r"^ +stripes: ([\d ]+)$", text, re.MULTILINE)[1].split()]

    def mix(x):
        with np.errstate(over="ignore"):
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return x ^ (x >> np.uint64(31))

    assert f"mix(1) = {int(mix(np.uint64(1))):#x}," in text
    with h5py.File(path) as main:
        assert "pages" not in main["topology/out"] and main.attrs["version"] == 3
        crcs = main["topology/out/directory"]["crc"]
    files = [h5py.File(stripe) for stripe in stripes]
    for page, crc in enumerate(crcs.tolist()):
        stretch, at = divmod(page, STRETCH)
        where = (stretch + int(mix(np.uint64(stretch // STRIPES)))) % STRIPES
        assert stretch >= len(shown) or where == shown[stretch]
        row = stretch // STRIPES * STRETCH + at
        assert page_crc(page, files[where]["topology/out/pages"][row].tobytes()) == crc
    for number, file in enumerate(files):
        said = json.loads(file["stripe"][:].tobytes())
        assert f'"format":"gstream stripe","version":{said["version"]},' in text and said["stripe"] == number
        assert list(said) == ["crc32", "format", "version", "store", "stripe", "stripes", "pages"]
        file.close()


def test_reads_across_stretches(made):
    """Any run of pages, by O_DIRECT and not, with buffers of the caller's and weights."""
    path, _ = made
    with open_store(path) as store:
        topology = store.topology("out")
        with topology.reader() as reader, topology.reader(direct=True) as direct:
            whole, weights = reader.read(0, topology.pages), reader.read_weights(0, topology.pages)
            for first in range(0, topology.pages, 3):
                count = min(2 * STRETCH + 1, topology.pages - first)
                for each in (reader, direct):
                    assert np.array_equal(each.read(first, count), whole[first : first + count])
                    assert np.array_equal(each.read_weights(first, count), weights[first : first + count])


def test_stores_of_before_keep_their_version(tmp_path):
    convert(edges(), tmp_path / "one.gs", ConvertOptions(page_bytes=4096))
    with open_store(tmp_path / "one.gs") as store:
        assert store.meta.version == 1 and store.meta.needs == [] and store.stripes == []


def test_folders_of_stripes_that_a_store_lacks(tmp_path):
    convert_arrays(tmp_path / "a.gs", np.arange(3), np.arange(3))
    with pytest.raises(
        UsageError, match=r"--stripe: .*a\.gs lies in one file, without stripes\. Leave the option out\."
    ):
        open_store(tmp_path / "a.gs", [tmp_path])


def test_equal_edges_and_folders_give_equal_bytes(made, tmp_path):
    path, stripes = made
    before = [file.read_bytes() for file in (path, *stripes)]
    striped(tmp_path, threads=1, memory_bytes=1 << 15)
    assert [file.read_bytes() for file in (path, *stripes)] == before


def test_stripes_elsewhere_are_found_in_the_folders_named(made, tmp_path):
    """Not below the store's folder: they are named without one, wherever they are moved to."""
    path, stripes = made
    (tmp_path / "sub").mkdir()
    moved = Path(shutil.move(path, tmp_path / "sub" / "graph.gs"))
    folders = [stripe.parent for stripe in stripes]
    with open_store(moved, folders) as store:
        assert len(contents(store)) == 6
    with pytest.raises(StoreError, match=r"its stripe 0 of 3, graph\.gs\.[0-9a-f]{8}\.0\.stripe, is not in .*disk1"):
        open_store(moved, folders[1:])
    (tmp_path / "more").mkdir()
    outside, others = striped(tmp_path / "more", name="b.gs", stripe=folders)
    with open_store(outside, folders) as store:
        assert all("/" not in name for name in store.meta.stripes) and len(contents(store)) == 6
    with pytest.raises(StoreError, match=rf"It was written to {re.escape(str(folders[0]))}\. Name the folders"):
        open_store(outside)
    assert verify(outside, stripes=folders).ok and others[0].parent == folders[0]


def refusal(path: Path) -> str:
    """What opening says."""
    with pytest.raises(StoreError) as caught:
        open_store(path)
    return str(caught.value)


def test_files_that_are_not_the_stripe(made, tmp_path):
    path, stripes = made
    shutil.move(stripes[1], tmp_path / "kept")
    assert refusal(path).startswith(f"{path}: its stripe 1 of 3, {stripes[1].name}, is not in {stripes[1].parent}.")
    shutil.copy(stripes[0], stripes[1])
    assert refusal(path) == (
        f"{stripes[1]}: is stripe 0 of {path}, not 1: files were swapped. Give them their names back."
    )
    other, others = striped(tmp_path, seed=2, name="other.gs")
    shutil.copy(others[1], stripes[1])
    assert re.match(
        rf"{stripes[1]}: is a stripe of another store \(UUID [0-9a-f-]+, not [0-9a-f-]+\) than", refusal(path)
    )
    shutil.copy(path, stripes[1])
    assert refusal(path).startswith(f"{stripes[1]}: is no stripe of a store; stripe 1 of {path} was looked for.")
    stripes[1].write_bytes(b"")
    assert refusal(path).startswith(f"{stripes[1]}: is empty")
    shutil.copy(tmp_path / "kept", stripes[1])
    with open(stripes[1], "r+b") as file:
        file.truncate(os.stat(stripes[1]).st_size - 5000)
    assert re.match(rf"{stripes[1]}: (is cut|dataset .* ends past the end of the file)", refusal(path))
    os.remove(stripes[1])
    os.mkfifo(stripes[1])
    assert refusal(path).startswith(f"{stripes[1]}: is a pipe or a device")
    assert refusal(stripes[0]) == f"{stripes[0]}: is a stripe, a part of a store. Name the store's main file."
    with open_store(other) as store:
        assert len(contents(store)) == 6


def test_stretches_that_were_swapped(made):
    """Bytes of one page in the place of another, in one file and in two."""
    path, stripes = made
    with open_store(path) as store:
        offsets = [stripe.extents["topology/out/pages"].offset for stripe in store.stripes]
    first, second = bytearray(stripes[0].read_bytes()), bytearray(stripes[1].read_bytes())
    one, two = slice(offsets[0], offsets[0] + 4096), slice(offsets[1], offsets[1] + 4096)
    first[one], second[two] = second[two], first[one]
    stripes[0].write_bytes(first)
    stripes[1].write_bytes(second)
    report = verify(path)
    assert len(report.bad_pages["out"]) == 2 and len(report.problems) == 2
    assert all(re.search(r"in \S+/disk\d/\S+\.stripe fails its checksum", line) for line in report.problems)


def test_a_flipped_byte_anywhere_is_refused_or_harmless(made):
    """Of a stripe: what is read is what was written, or the file is refused."""
    path, stripes = made
    numbers = np.random.default_rng(4)
    with open_store(path) as store:
        whole = contents(store)
    data, refused = stripes[2].read_bytes(), 0
    for at in [*numbers.integers(0, len(data), 150).tolist(), *range(0, 2048, 37)]:
        changed = bytearray(data)
        changed[at] ^= 1 << int(numbers.integers(8))
        stripes[2].write_bytes(changed)
        try:
            with open_store(path) as store:
                for mine, other in zip(contents(store), whole, strict=True):
                    assert np.array_equal(mine, other)
        except StoreError as error:
            refused += 1
            assert "disk2" in str(error), "the file is named"
    assert refused > 100


@pytest.mark.parametrize(
    "name", ["../graph.gs.0.stripe", "/etc/0.stripe", "disk0/../../0.stripe", "", "a//0.stripe", "./0.stripe", "passwd",
             "a\0.stripe", 5, None],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(made, name):
    """Before anything is opened by them, whatever is there."""
    path, _ = made

    def renamed(graph):
        graph["stripes"][0] = name

    rewrite(path, renamed)
    assert "leads out of the store's folder or is no stripe's name" in refusal(path)


CHANGES = (
    {"stripes": ["a.stripe", "a.stripe"]}, {"stripes": ["b/a.stripe", "a.stripe"]}, {"stripe_pages": 0},
    {"stripes": []}, {"stripes": {"a": 1}}, {"stripes": [f"{number}.stripe" for number in range(65)]}, {"uuid": ""},
    {"stripe_pages": 1 << 70}, {"stripe_pages": "2"}, {"more": 1}, {"stripes": None},
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_descriptions_that_no_converter_writes(made, change):
    path, _ = made
    rewrite(path, lambda graph: graph.update(change))
    assert "convert the graph again" in refusal(path).lower()


@pytest.mark.parametrize("options", [{"stripe": 5}, {"stripe": ["a"]}, {"stripe": [1, None, {}]}, 7, ["stripe"], None])
def test_where_stripes_were_written_may_be_anything(made, options):
    """It is only told, wherever it is a list that fits."""
    path, stripes = made
    os.remove(stripes[1])
    rewrite(path, lambda graph: graph.update(provenance={"options": options}))
    told = " It was written to None." if options == {"stripe": [1, None, {}]} else ""
    assert f"is not in {stripes[1].parent}.{told} Name the folders" in refusal(path)


def test_names_that_are_no_text(tmp_path):
    """Bytes of a file's name that are no UTF-8, and control characters, which no message shows as they are."""
    path, stripes = striped(tmp_path, name=os.fsdecode(b"caf\xe9\x1b[2J.gs"))
    with open_store(path) as store:
        assert len(contents(store)) == 6
    os.remove(stripes[0])
    with pytest.raises(StoreError) as caught:
        open_store(os.fspath(path))
    assert "\x1b" not in str(caught.value).partition(": its stripe 0")[2]


def test_what_a_store_needs_and_this_gstream_lacks(made):
    path, _ = made
    rewrite(path, lambda graph: None, needs=["striped", "quantised"])
    assert refusal(path) == (
        f"{path}: needs quantised, which this gstream does not know; it knows striped, compressed, part, "
        "coded_arrays, coded_floats. Use the gstream that wrote it, or convert the graph again."
    )
    for needs in ("striped", None, [], ["striped", "striped"]):
        rewrite(path, lambda graph: None, needs=needs)
        assert "/meta" in refusal(path)


def rewrite(path: Path, change, **document) -> None:
    """Change the description of a store, with a CRC that is right."""
    import h5py

    with h5py.File(path) as file:
        offset, data = file["meta"].id.get_offset(), file["meta"][:].tobytes()
    said = opened_seal(data)
    del said["crc32"]
    change(said["graph"])
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(sealed(said | document, META_BYTES))


def test_a_description_survives_its_encoding(made):
    path, _ = made
    with open_store(path) as store:
        meta = store.meta
    assert decode_meta(encode_meta(meta, {"a": 1}), "x") == (meta, {"a": 1})


def test_files_come_back_when_they_are_needed(made, monkeypatch, tmp_path):
    """A store that let its files go, copies, and what was pickled open them again; another store's are refused."""
    path, stripes = made
    monkeypatch.chdir(path.parent)
    with open_store(path.name) as store:
        whole = contents(store)
        store.let_go()
        pickled = pickle.dumps(store)
        monkeypatch.chdir("/")
        for again in (store, pickle.loads(pickled), copy.deepcopy(store)):
            for mine, other in zip(contents(again), whole, strict=True):
                assert np.array_equal(mine, other)
        store.let_go()
        os.rename(stripes[1], stripes[1].with_suffix(".kept"))
        shutil.copy(stripes[0], stripes[1])
        with pytest.raises(StoreError, match=r"1\.stripe: the graph was closed, and another store is there since"):
            contents(store)


def test_no_file_stays_open(made):
    path, stripes = made
    before = len(os.listdir("/proc/self/fd"))
    with open_store(path) as store, store.topology("out").reader():
        assert len(os.listdir("/proc/self/fd")) == before + 1 + 2 * STRIPES
    os.remove(stripes[2])
    refusal(path)
    assert len(os.listdir("/proc/self/fd")) == before
