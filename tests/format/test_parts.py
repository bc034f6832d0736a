"""Graphs in parts: the pages and edges of the store that was split; what is missing, swapped, damaged or half made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.errors import StoreError, UsageError
from pagestore.manifest import MANIFEST, own_range, part_name, read_manifest
from pagestore.memory import ArraySource
from pagestore.partialfile import PartialFile
from pagestore.parts import open_part, open_whole
from pagestore.split import count_bits, split
from pagestore.verify import verify
from tests.decoded import decode_edges

PARTS = 3
WAYS = [{}, {"columns": 32, "order": "degree"}, {"directed": False}]


def store_in(folder: Path, **options) -> Path:
    """A weighted graph of 70 pages with a hub, whose list takes large pages."""
    numbers = np.random.default_rng(1)
    source, target = numbers.integers(0, 5_000, (2, 30_000))
    source[:4000] = 5
    edges = ArraySource(source, target, numbers.integers(1, 99, len(source)).astype(np.float64))
    convert(edges, folder / "graph.gs", ConvertOptions(page_bytes=4096, **options))
    return folder / "graph.gs"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store, and the same graph in parts."""
    folder = tmp_path_factory.mktemp("kept")
    store = store_in(folder)
    split(store, folder / "graph.parts", PARTS, threads=1)
    return folder


@pytest.fixture
def made(kept, tmp_path):
    """A copy of both, to be damaged."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("options", WAYS, ids=["rows", "columns", "undirected"])
def test_parts_together_are_the_store(tmp_path, options):
    store, folder = store_in(tmp_path, **options), tmp_path / "graph.parts"
    report = split(store, folder, PARTS, threads=1)
    assert verify(folder).ok and sorted(os.listdir(folder)) == [MANIFEST, *map(part_name, range(PARTS))]
    with open_store(store) as whole, open_whole(folder) as joined:
        assert joined.meta == whole.meta
        for name in whole.meta.topologies:
            for mine, theirs in zip(
                decode_edges(joined.topology(name)), decode_edges(whole.topology(name)), strict=True
            ):
                assert np.array_equal(mine, theirs)
            told = [part.edges[name] for part in report.manifest.parts]
            assert sum(told) == whole.meta.edges and min(told) > whole.meta.edges / PARTS / 2
            assert sum(part.pages[name] for part in report.manifest.parts) == whole.topology(name).pages


def test_a_part_tells_which_vertices_its_pages_name(kept):
    manifest = read_manifest(kept / "graph.parts")
    for number, said in enumerate(manifest.parts):
        with open_part(kept / "graph.parts", number, PARTS) as part:
            assert verify(part).ok
            for name in part.meta.topologies:
                topology, reads = part.topology(name), part.array(f"topology/{name}/reads").read()
                named = np.unique(np.concatenate(list(neighbours(topology))))
                bits = np.flatnonzero(np.unpackbits(reads.view(np.uint8), bitorder="little"))
                assert np.array_equal(bits, named) and said.named[name] == len(named)
                first, last = own_range(part.meta.vertices, number, PARTS)
                assert said.mirrors[name] == np.count_nonzero((named < first) | (named >= last)) > 0


def neighbours(topology):
    """Neighbours of each page that a part has."""
    with topology.reader() as reader:
        for page, _ in topology.spread.ranges(topology.pages, 1):
            words, layout = reader.read(page, 1).view(topology.layout.id_dtype)[0], topology.layout
            records = int(topology.directory["records"][page])
            starts = words[layout.words - 2 * records + 1 :: 2].astype(np.int64)
            used = words[layout.header_words : layout.header_words + records + int(topology.directory["edges"][page])]
            yield np.delete(used, starts - layout.header_words)


@pytest.mark.parametrize("first, last", [(0, 200), (3, 9), (60, 70), (64, 128), (70, 70), (0, 193)])
def test_bits_are_counted_between_any_two_vertices(first, last):
    bits = np.random.default_rng(2).integers(0, 2, 256).astype(np.uint8)
    assert count_bits(np.packbits(bits, bitorder="little").view("<u8"), first, last) == bits[first:last].sum()


def test_pages_of_other_parts_are_not_read(kept):
    with open_part(kept / "graph.parts", 1, PARTS) as part, part.topology("out").reader() as reader:
        with pytest.raises(UsageError, match="is part 1 of 3; page 0 of topology out is in part 0"):
            reader.read(0, 1)


def test_another_number_of_ranks_is_told_the_command(kept):
    with pytest.raises(UsageError, match=r"in 3 parts, and there are 4 ranks.*gstream split .*graph\.gs .* --parts 4"):
        open_part(kept / "graph.parts", 0, 4)
    with pytest.raises(UsageError, match="mpiexec -n 3 gstream run"):
        open_store(kept / "graph.parts")


def test_a_split_that_stops_leaves_nothing_that_counts(made, monkeypatch):
    folder, publish, done = made / "new.parts", PartialFile.publish, []

    def stop(self):
        publish(self)
        done.append(self.path)
        if len(done) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(PartialFile, "publish", stop)
    with pytest.raises(KeyboardInterrupt):
        split(made / "graph.gs", folder, PARTS, threads=1)
    monkeypatch.undo()
    assert sorted(os.listdir(folder)) == [part_name(0), part_name(1)]
    with pytest.raises(StoreError, match="no manifest.json"):
        open_part(folder, 0, PARTS)
    for opens in (open_store, open_whole):
        with pytest.raises(StoreError, match=r"is an unfinished split.*gstream split STORE .*new.parts --parts N"):
            opens(folder)
    (folder / "part-00007.gs.partial").touch()
    split(made / "graph.gs", folder, PARTS, threads=1)
    assert verify(folder).ok and len(os.listdir(folder)) == 1 + PARTS


def test_what_is_not_a_split_is_left_alone(made):
    store, folder = made / "graph.gs", made / "graph.parts"
    with pytest.raises(UsageError, match="exists. Pass --force"):
        split(store, folder, 2)
    split(store, folder, 2, force=True, threads=1)
    assert len(read_manifest(folder).parts) == 2 and len(os.listdir(folder)) == 3
    (folder / "notes.txt").touch()
    with pytest.raises(UsageError, match=r"holds other files, as notes\.txt"):
        split(store, folder, 2, force=True)
    with pytest.raises(UsageError, match="is a file"):
        split(store, store, 2, force=True)
    with pytest.raises(UsageError, match="--parts 1: it must be"):
        split(store, made / "new.parts", 1)
    with pytest.raises(UsageError, match="is a part already"):
        split(folder / part_name(1), made / "new.parts", 2)
    assert (folder / "notes.txt").exists() and not (made / "new.parts").exists()


def test_parts_may_do_without_heads(made):
    split(made / "graph.gs", made / "bare.parts", PARTS, threads=1, heads=False)
    with open_part(made / "bare.parts", 1, PARTS) as part:
        assert not part.meta.heads and not [name for name in part.array_names if name.endswith("heads")]
    assert verify(made / "bare.parts").ok


def test_parts_are_split_into_another_number(kept, tmp_path):
    again, plain = tmp_path / "again.parts", tmp_path / "plain.parts"
    split(kept / "graph.parts", again, 2, threads=1)
    split(kept / "graph.gs", plain, 2, threads=1)
    assert verify(again).ok
    for number in range(2):
        assert (again / part_name(number)).read_bytes() == (plain / part_name(number)).read_bytes()
    with pytest.raises(UsageError, match="can't be split into itself"):
        split(again, again, 3, force=True)
    assert verify(again).ok


def test_parts_of_a_compressed_store_are_those_of_the_same_store_as_it_is(kept, tmp_path):
    report = split(store_in(tmp_path, compress="on"), tmp_path / "graph.parts", PARTS, threads=1)
    assert verify(tmp_path / "graph.parts").ok
    plain = read_manifest(kept / "graph.parts")
    for one, other in zip(report.manifest.parts, plain.parts, strict=True):
        assert (one.pages, one.edges, one.mirrors) == (other.pages, other.edges, other.mirrors)
    with open_whole(tmp_path / "graph.parts") as coded, open_whole(kept / "graph.parts") as stored:
        assert not coded.meta.compressed
        for name in stored.meta.topologies:
            assert np.array_equal(coded.topology(name).directory, stored.topology(name).directory)
            found = [decode_edges(store.topology(name)) for store in (coded, stored)]
            assert all(map(np.array_equal, *found))


def test_damage_is_named_by_its_part(made):
    folder = made / "graph.parts"
    with open_part(folder, 1, PARTS) as part:
        topology = part.topology("out")
        page, place = next(topology.spread.ranges(topology.pages, 1))[0], topology.pages_offsets[0]
    with open(folder / part_name(1), "r+b") as file:
        file.seek(place + 100)
        file.write(b"\xff\x00\xff")
    report = verify(folder)
    assert report.bad_pages == {"out": [page]} and part_name(1) in report.problems[0]


def test_parts_that_are_missing_swapped_or_of_another_split_are_refused(made):
    folder = made / "graph.parts"
    split(made / "graph.gs", made / "other.parts", 2, threads=1)
    os.rename(folder / part_name(0), made / "kept.gs")
    with pytest.raises(StoreError, match=r"part-00000\.gs: no such file: it is part 0 of \d+ of .* --force\.$"):
        open_part(folder, 0, PARTS)
    for wrong in (folder / part_name(1), made / "other.parts" / part_name(0)):
        shutil.copy(wrong, folder / part_name(0))
        with pytest.raises(StoreError, match="is not the part 0 of 3"):
            open_whole(folder)
    for data, said in ((b"", "is empty"), (bytes(5000), "no HDF5 signature")):
        (folder / part_name(0)).write_bytes(data)
        with pytest.raises(
            StoreError, match=rf"part-00000\.gs: .*{said}.* Copy the part again, or split the store again"
        ):
            open_part(folder, 0, PARTS)


def test_a_manifest_with_a_wrong_bit_is_refused(made):
    path = made / "graph.parts" / MANIFEST
    data = path.read_bytes()
    for at in range(0, len(data), 37):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        with pytest.raises(StoreError, match="fails its checksum"):
            read_manifest(made / "graph.parts")
