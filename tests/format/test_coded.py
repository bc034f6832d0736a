"""Coded pages: the store's coder and decoder, a reference decoder, damage, forged pages, and who may read them."""

from __future__ import annotations

import random
import shutil

import choice
import h5py
import numpy as np
import pytest

from pagestore import meta as descriptions
from pagestore import open_store
from pagestore.coding import bits, form, lanes
from pagestore.coding.decode import decode_page, sound
from pagestore.convert.options import ConvertOptions
from pagestore.errors import StoreError, UsageError
from pagestore.info import store_info
from pagestore.jit import compiled
from pagestore.memory import convert_arrays
from pagestore.reader import PageReader
from pagestore.store import Store
from pagestore.verify import verify
from tests.choice import seeds
from tests.coded_reference import Bits, greatest_of, page_of, weights_of

KINDS = [None, "u1", "i4", "f4"]


def graph(seed: int, weight: str | None = None, repeats: bool = True):
    """Lists of all lengths, one for several large pages; vertices without lists between others."""
    rng = np.random.default_rng(seed)
    source = np.concatenate([rng.integers(0, 500, 4000) // 3 * 3, np.full(2500, 70), rng.integers(5000, 5005, 300)])
    target = np.concatenate([rng.integers(0, 9000, 4000), rng.integers(0, 400_000, 2500), source[-300:] + 3])
    if not repeats:
        source, target = np.unique(np.stack([source, target]), axis=1)
    values = {"u1": rng.integers(0, 90, len(source)), "i4": rng.integers(-300, 300, len(source)),
              "f4": rng.random(len(source)), None: None}[weight]  # fmt: skip
    return source, target, values


def stores(tmp_path, seed=1, weight=None, repeats=True, **options) -> tuple[Store, Store]:
    """The same graph as pages and as coded pages."""
    made = []
    for compress in ("off", "on"):
        path = tmp_path / f"{compress}.gs"
        convert_arrays(path, *graph(seed, weight, repeats), page_bytes=4096, compress=compress, **options)
        made.append(open_store(path))
    return made[0], made[1]


def coded_pages(store: Store, name: str) -> list[tuple[bytes, int, int]]:
    """Stored bytes, records and edges of each page."""
    topology, found = store.topology(name), []
    with topology.reader() as reader:
        for number in range(topology.pages):
            row = topology.directory[number]
            found.append((reader.read_coded(number, 1).tobytes(), int(row["records"]), int(row["edges"])))
    return found


def words_of(data: bytes) -> np.ndarray:
    """uint8[n] at an address for words of 8 bytes."""
    return np.frombuffer(data, np.uint64).copy().view(np.uint8)


apart_slowly = compiled(bits.apart_slowly)


def test_bits_are_put_and_taken_where_the_mask_has_ones():
    """By an instruction where the processor has it, else bit by bit."""
    numbers = random.Random(3)
    for _ in range(50):
        word, mask = numbers.getrandbits(64), numbers.getrandbits(64) & numbers.getrandbits(64)
        places = [place for place in range(64) if mask >> place & 1]
        put = sum((word >> k & 1) << place for k, place in enumerate(places))
        taken = sum((word >> place & 1) << k for k, place in enumerate(places))
        given = np.uint64(word), np.uint64(mask)
        with np.errstate(over="ignore"):
            assert int(bits.deposit(*given)) == int(bits.deposit_slowly(*given)) == put
            assert int(bits.extract(*given)) == int(bits.extract_slowly(*given)) == taken
        low, high = numbers.randint(0, 32), numbers.randint(0, 32)
        halves = np.uint64((1 << low) - 1 | (1 << high) - 1 << 32), np.uint64((1 << low + high) - 1)
        for kept in halves:  # two fields of half a word, and one
            assert (
                int(apart_slowly(given[0], kept))
                == int(bits.apart(given[0], kept))
                == int(bits.deposit(given[0], kept))
            )


def test_bits_are_put_as_the_processor_that_numba_compiles_for_can(monkeypatch):
    """LLVM ends the process at an instruction that the one named by NUMBA_CPU_FEATURES lacks."""
    for told, found in (("", False), ("+sse2,-bmi2", False), ("+sse2,+bmi2", True)):
        monkeypatch.setattr(bits.config, "CPU_FEATURES", told)
        assert bits.has_features("bmi2") is found


@compiled
def of_lanes(value, stream, bit, words, masks, less):
    """What each step makes of 64 items: masks, fields and the bit after them, sums, sums from a base."""
    kind = value.dtype.type
    found = np.zeros((4, 80), value.dtype)
    of_classes = masks[0], masks[1], masks[2], masks[3], masks[4]
    lanes.choose(found[0], words[0], words[1], words[2], words[3], of_classes)
    end = lanes.take(found[1], np.uint64(8), stream, bit, words[0], words[1], words[2], words[3], of_classes)
    last = lanes.sum_up(found[2], value, np.uint64(5), less, words[2])
    lanes.add_base(found[3], np.uint64(3), found[2], np.uint64(9), np.uint64(2**64 - 7))
    return found, end, last, kind(0)


@pytest.mark.parametrize("dtype", ["<u4", "<u8"])
def test_steps_of_16_items_are_what_single_items_make(dtype):
    numbers = random.Random(4)
    for _ in range(20):
        words = [numbers.getrandbits(64)]
        for _ in range(3):
            words.append(words[-1] & numbers.getrandbits(64))
        widths = [numbers.randint(0, 25) for _ in range(5)]
        value = np.array([numbers.getrandbits(20) for _ in range(80)], dtype)
        held, bit, less = numbers.randbytes(320), numbers.randint(0, 7), numbers.randint(0, 1)
        masks = np.array([(1 << width) - 1 for width in widths], dtype)
        given = np.array(words, np.uint64), masks, np.uint64(less)
        found, end, last, _ = of_lanes(value, np.frombuffer(held, np.uint64), np.uint64(bit), *given)
        kinds = [sum(word >> k & 1 for word in words) for k in range(64)]
        assert found[0, :64].tolist() == [(1 << widths[kind]) - 1 for kind in kinds]
        if lanes.HAS_PERMUTE and dtype == "<u4":
            at, whole = bit, Bits(held)
            for k, kind in enumerate(kinds):
                assert found[1, 8 + k] == whole.take(at, widths[kind])
                at += widths[kind]
            assert end == at
        sums = np.cumsum([0 if words[2] >> k & 1 else int(value[5 + k]) + less for k in range(64)]).tolist()
        assert found[2, :64].tolist() == sums and last == sums[-1]
        assert found[3, 3:19].tolist() == [(one - 7) % (1 << 8 * value.itemsize) for one in sums[9:25]]


@pytest.mark.covering(1)
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("weight", [None, "u1", *choice.also("i4", "f4")])
def test_decoded_pages_are_the_pages_of_the_same_conversion(tmp_path, weight, id_bytes):
    raw, coded = stores(tmp_path, weight=weight, id_bytes=id_bytes, repeats=weight is None)
    assert coded.meta.needs == ["compressed", "coded_arrays", *(["coded_floats"] if weight == "f4" else [])]
    assert coded.meta.version == 3 and raw.meta.version == 1
    assert coded.meta.stored_bytes["out"] < raw.topology("out").pages * 4096 / 2
    for name in ("out", "in"):
        ours, theirs = coded.topology(name), raw.topology(name)
        assert ours.pages == theirs.pages and ours.small_pages == theirs.small_pages
        np.testing.assert_array_equal(ours.heads(), theirs.heads())
        for direct in (False, True):
            with ours.reader(direct) as reader, theirs.reader() as before:
                for first, count in ((0, ours.pages), (1, 2), (ours.pages - 1, 1), (0, 0)):
                    np.testing.assert_array_equal(reader.read(first, count), before.read(first, count))
                    if weight:
                        pages = reader.read_weights(first, count)
                        np.testing.assert_array_equal(pages, before.read_weights(first, count))
        for number, (data, records, edges) in enumerate(coded_pages(coded, name)):
            with theirs.reader() as before:
                assert page_of(data, 4096, id_bytes, records, edges) == before.read(number, 1)[0].tobytes()
                if weight:
                    with ours.reader() as reader:
                        held = reader.read_coded(number, 1, weights=True).tobytes()
                    page = before.read_weights(number, 1)[0].tobytes()
                    begin = 32 // id_bytes
                    given = (len(page), weight, begin, begin + records + edges)
                    assert held == page or weights_of(held, *given) == page
    scrubbed = verify(coded)
    assert scrubbed.ok and scrubbed.bytes_read < coded.file_bytes


def test_the_bytes_do_not_depend_on_threads(tmp_path):
    source, target, _ = graph(3)
    for threads in (1, 3):
        convert_arrays(tmp_path / f"{threads}.gs", source, target, page_bytes=4096, compress="on", threads=threads)
    assert (tmp_path / "1.gs").read_bytes() == (tmp_path / "3.gs").read_bytes()


def test_pages_that_would_not_shrink_are_stored_as_they_are(tmp_path, monkeypatch):
    """No page is longer coded, so that here each one is said to take a page."""
    raw, _ = stores(tmp_path)
    monkeypatch.setattr(form, "ROUND_WORDS", 1024)
    convert_arrays(tmp_path / "same.gs", *graph(1), page_bytes=4096, compress="on")
    monkeypatch.undo()
    with open_store(tmp_path / "same.gs") as store, raw.topology("out").reader() as reader:
        pages = store.topology("out").pages
        assert store.meta.stored_bytes["out"] == 4096 * pages and verify(store).ok
        assert coded_pages(store, "out")[3][0] == reader.read(3, 1).tobytes()


@pytest.mark.parametrize("seed", seeds(2, range(4)))
def test_changed_pages_are_refused_or_stay_within_their_bounds(tmp_path, seed):
    """Behind a right checksum: what the quick check lets pass, the reference reads without leaving the page."""
    _, store = stores(tmp_path, repeats=bool(seed % 2), id_bytes=4 + 4 * (seed // 2))
    layout, draw, passed, told = store.layout, random.Random(seed), 0, 0
    pages = [page for page in coded_pages(store, "out") if len(page[0]) < 4096]
    for _ in range(400):
        data, records, edges = draw.choice(pages)
        changed = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            at = draw.choice([draw.randrange(32, 80), draw.randrange(32, len(data))])
            changed[at] = draw.choice([0, 255, changed[at] ^ 1 << draw.randrange(8)])
        held = words_of(bytes(changed))
        if not sound(held, layout, records, edges):
            with pytest.raises((IndexError, ValueError)):
                page_of(bytes(changed), 4096, layout.id_bytes, records, edges)
            continue
        passed += 1
        out, page = np.zeros(4096, np.uint8), page_of(bytes(changed), 4096, layout.id_bytes, records, edges)
        last = int(np.frombuffer(page, layout.id_dtype)[-2 * records])
        greatest = decode_page(held, layout, records, edges, out, last)
        assert out.tobytes() == page
        if greatest < {4: 1 << 32, 8: 1 << 63}[layout.id_bytes]:  # the reader then looks at no list of the page
            told += 1
            assert greatest == greatest_of(page, layout.id_bytes, records)
    assert 50 < passed < 350 and told > passed // 2  # all of it happens


def test_cut_pages_are_refused(tmp_path):
    _, store = stores(tmp_path)
    data, records, edges = coded_pages(store, "out")[0]
    for size in range(0, len(data), 16):
        assert not sound(words_of(data[:size]), store.layout, records, edges)
    for counts in ((records + 1, edges), (records, edges + 1), (records, edges - 1), (records - 1, edges)):
        assert not sound(words_of(data), store.layout, *counts)


def changed_store(tmp_path, name: str, at: int, value: int) -> str:
    path = tmp_path / f"changed-{name.replace('/', '.')}-{at}.gs"
    shutil.copy(tmp_path / "on.gs", path)
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        held = file[name][()]
        held[at] = held[at] ^ value
        file[name][...] = held
    return str(path)


@pytest.mark.parametrize("name, weights", [("topology/out/pages", False), ("topology/in/weights", True)])
def test_every_changed_byte_is_told(tmp_path, name, weights):
    _, store = stores(tmp_path, weight="u1")
    size = store.meta.stored_weights["in"] if weights else store.meta.stored_bytes["out"]
    for at in (0, 5, 40, size // 3, size // 2, size - 1):
        path = changed_store(tmp_path, name, at, 64)
        report = verify(path)
        assert not report.ok and "checksum" in report.problems[0] and len(report.problems) == 1
        with open_store(path) as damaged:
            topology = damaged.topology("in" if weights else "out")
            with topology.reader() as reader, pytest.raises(StoreError, match="checksum"):
                (reader.read_weights if weights else reader.read)(0, topology.pages)


def test_sizes_that_contradict_the_description_are_refused(tmp_path):
    stores(tmp_path)
    with pytest.raises(StoreError, match="checksum"):
        open_store(changed_store(tmp_path, "topology/out/stored", 0, 16))


@pytest.mark.parametrize("sizes", [[32, 0], [24, 8], [4096 + 16, -4080], [16, 32]])
def test_forged_sizes_are_refused(tmp_path, sizes, monkeypatch):
    _, store = stores(tmp_path)
    array = store.array("topology/out/stored")
    forged = array.read().astype(np.int64)
    forged[0], forged[1] = sizes[0], forged[0] + forged[1] - sizes[0] + (16 if sizes == [16, 32] else 0)
    if sizes[1] == 0:
        forged[0], forged[1] = forged[0] + forged[1], 0
    monkeypatch.setattr(type(array), "read", lambda self, *given: forged.astype("<u4"))
    from pagestore.topology import _places

    with pytest.raises(StoreError, match="sizes"):
        _places({"topology/out/stored": array}, store.meta, "out", store.layout, None, "a.gs")


def test_a_reader_that_does_not_know_the_feature_names_it(tmp_path, monkeypatch):
    stores(tmp_path)
    monkeypatch.delitem(descriptions.NEEDS, "compressed")
    with pytest.raises(StoreError, match="needs compressed, which this gstream does not know"):
        open_store(tmp_path / "on.gs")


@pytest.mark.parametrize("other", [{"columns": 8}, {"stripe": ("a",)}])
def test_options_that_contradict_it_are_refused(other):
    with pytest.raises(UsageError, match="--compress and --"):
        ConvertOptions(compress="on", **other)
    with pytest.raises(UsageError, match="--compress yes: unknown"):
        ConvertOptions(compress="yes")


def test_auto_compresses_where_a_quarter_is_saved(tmp_path):
    rng = np.random.default_rng(1)
    near = np.arange(5000) // 10
    many = convert_arrays(tmp_path / "a.gs", near, near + np.arange(5000) % 10, page_bytes=4096, compress="auto")
    assert many.coded_bytes < 0.75 * many.raw_bytes and not many.notes
    far, sparse = rng.integers(0, 1 << 40, 50), rng.integers(0, 1 << 40, 50)
    few = convert_arrays(tmp_path / "b.gs", far, sparse, page_bytes=4096, compress="auto", weights=None)
    assert open_store(tmp_path / "b.gs").meta.compressed == (few.coded_bytes > 0)


def test_info_says_how_many_bytes_are_stored(tmp_path):
    raw, coded = stores(tmp_path, weight="u1")
    facts = store_info(coded)["topologies"]["out"]
    assert (
        facts["stored_bytes"] == coded.meta.stored_bytes["out"] < facts["bytes"] == coded.topology("out").pages * 4096
    )
    assert facts["weights_bytes"] == coded.meta.stored_weights["out"]
    assert store_info(raw)["topologies"]["out"]["stored_bytes"] == facts["bytes"]


def test_a_graph_without_edges_can_be_compressed(tmp_path):
    convert_arrays(tmp_path / "none.gs", np.zeros(0, int), np.zeros(0, int), vertices=5, compress="on")
    with open_store(tmp_path / "none.gs") as store:
        assert store.meta.compressed and store.topology("out").pages == 0 and verify(store).ok


def test_reads_end_where_the_file_does(tmp_path):
    _, store = stores(tmp_path)
    with store.topology("out").reader() as reader, pytest.raises(IndexError):
        reader.read_coded(0, reader.topology.pages + 1)
    assert isinstance(reader, PageReader) and form.CHUNK == 1024
