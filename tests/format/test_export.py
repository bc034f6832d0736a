"""Export gives the edges back by the user's IDs, in each format; `info` gives facts that add up."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import zstandard
from small_stores import Edges, random_edges, write_store

from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.errors import StoreError, UsageError
from pagestore.export import export_edges
from pagestore.info import store_info
from pagestore.inputs import InputOptions, open_source
from pagestore.layout import GROUP_SIZES

IDS = np.arange(300, dtype=np.int64) * 5 + 2


@pytest.fixture(scope="module")
def edges() -> Edges:
    graph = random_edges(seed=8, hub=2500, weight="f4")
    graph.weight = (graph.weight / np.float32(8)).astype(np.float32)
    return graph


@pytest.fixture(scope="module")
def store(tmp_path_factory, edges):
    path = str(tmp_path_factory.mktemp("export") / "g.gs")
    write_store(path, edges, ids=IDS)
    with open_store(path) as opened:
        yield opened


def read_text(data: bytes, separator: str) -> list[tuple]:
    rows = [line.split(separator) for line in data.decode().splitlines()]
    return sorted((int(a), int(b), *(float(w) for w in rest)) for a, b, *rest in rows)


def wanted(edges: Edges, weighted: bool) -> list[tuple]:
    source, target = IDS[edges.source.astype(int)].tolist(), IDS[edges.target.astype(int)].tolist()
    if not weighted:
        return sorted(zip(source, target, strict=True))
    return sorted(zip(source, target, edges.weight.tolist(), strict=True))


@pytest.mark.parametrize(
    "name, separator, weighted",
    [("e.txt", "\t", True), ("e.tsv", "\t", True), ("e.el", " ", False), ("e.wel", " ", True)],
)
def test_text(store, edges, tmp_path, name, separator, weighted):
    report = export_edges(store, str(tmp_path / name))
    assert read_text((tmp_path / name).read_bytes(), separator) == wanted(edges, weighted)
    assert report.edges == len(edges.source) and [path.name for path in tmp_path.iterdir()] == [name]


def test_csv_and_parquet(store, edges, tmp_path):
    seen: list[tuple[int, int]] = []
    for name in ("e.csv", "e.parquet"):
        export_edges(store, str(tmp_path / name), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == store.topology("out").pages
    table = pyarrow.csv.read_csv(tmp_path / "e.csv")
    for back in (table, pyarrow.parquet.read_table(tmp_path / "e.parquet")):
        assert back.column_names == ["source", "target", "weight"]
        assert sorted(zip(*(column.to_pylist() for column in back.columns), strict=True)) == wanted(edges, True)
    export_edges(store, str(tmp_path / "f.csv"), weights=False)
    assert (tmp_path / "f.csv").read_text().startswith("source,target\n")


def test_weights_keep_their_digits(tmp_path):
    """Integers that float32 holds are written whole, fractions by the fewest digits that tell them, also mixed."""
    whole = {123456792.0: "123456792", 1000000064.0: "1000000064", -16777218.0: "-16777218", 2.0**40: "1099511627776"}
    beside = {0.1: "0.1", 123456792.0: "123456792", 3.0: "3", 1e-7: "1e-7", 3.4e38: "3.4e+38", 1 / 3: "0.33333334"}
    for number, weights in enumerate((whole, beside)):
        ends = np.arange(len(weights), dtype="u8")
        path = str(tmp_path / f"{number}.gs")
        given = np.array(list(weights), "f4")
        write_store(path, Edges(ends, ends[::-1].copy(), len(ends), given))
        for name, separator in (("e.txt", "\t"), ("e.wel", " "), ("e.csv", ",")):
            with open_store(path) as store:
                export_edges(store, str(tmp_path / name))
            rows = [line.split(separator) for line in (tmp_path / name).read_text().splitlines() if line[0] != "s"]
            assert [row[2] for row in sorted(rows, key=lambda row: int(row[0]))] == list(weights.values()), name
        with open_store(path) as store:
            export_edges(store, str(tmp_path / "e.parquet"))
        assert pyarrow.parquet.read_table(tmp_path / "e.parquet")["weight"].to_pylist() == given.tolist()


def test_compressed(store, edges, tmp_path):
    export_edges(store, str(tmp_path / "e.el.gz"))
    assert read_text(gzip.decompress((tmp_path / "e.el.gz").read_bytes()), " ") == wanted(edges, False)
    export_edges(store, str(tmp_path / "e.txt.zst"))
    data = zstandard.ZstdDecompressor().stream_reader((tmp_path / "e.txt.zst").read_bytes()).read()
    assert read_text(data, "\t") == wanted(edges, True)


def test_in_topology_alone_undirected_and_reordered(tmp_path):
    graph = random_edges(seed=2, vertices=40, edges=300)
    pairs = sorted(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    order = np.random.default_rng(3).permutation(40)
    path, out = str(tmp_path / "g.gs"), tmp_path / "e.el"
    renamed = Edges(order[graph.source.astype(int)].astype("u8"), order[graph.target.astype(int)].astype("u8"), 40)
    write_store(path, renamed, topologies=("in",), store_of=order)
    with open_store(path) as store:
        export_edges(store, str(out))
    assert read_text(out.read_bytes(), " ") == pairs
    loops = graph.source == graph.target
    both = Edges(
        np.concatenate([graph.source, graph.target[~loops]]), np.concatenate([graph.target, graph.source[~loops]]), 40
    )
    write_store(path, both, directed=False, topologies=("out",))
    with open_store(path) as store:
        report = export_edges(store, str(out))
    once = sorted((min(a, b), max(a, b)) for a, b in pairs)
    assert read_text(out.read_bytes(), " ") == once and report.edges == len(pairs)


def test_names_and_isolated_vertices(tmp_path):
    names = ["a", 'b "quoted"', "c d", "é"]
    path = str(tmp_path / "g.gs")
    write_store(path, Edges(np.array([0, 1], "u8"), np.array([1, 2], "u8"), 4), ids=names)
    with open_store(path) as store:
        assert export_edges(store, str(tmp_path / "e.csv")).isolated == 1
        back = pyarrow.csv.read_csv(tmp_path / "e.csv").to_pydict()
        assert back == {"source": ["a", 'b "quoted"'], "target": ['b "quoted"', "c d"]}
        with pytest.raises(UsageError, match="known are .txt"):
            export_edges(store, str(tmp_path / "e"))


NASTY = [
    '"', '""x', "#main", "%", " ahead", "behind ", "New York", "a\tb", 'say "hi"', "one,two", "a;b", "a|b", "x #y",
    "two\nlines", "plain", "é", "it's",
]  # fmt: skip


@pytest.mark.parametrize("name", ["e.txt", "e.tsv", "e.el", "e.wel", "e.csv", "e.txt.gz"])
def test_names_are_read_back(tmp_path, name):
    """Whatever is in them: in text those are in quotes that would be read as something else."""
    names = sorted(NASTY, key=str.encode)
    count = len(names)
    path, weight = str(tmp_path / "g.gs"), np.arange(1, count + 1, dtype="u1") if name == "e.wel" else None
    ring = Edges(np.arange(count, dtype="u8"), (np.arange(count, dtype="u8") + 1) % count, count, weight)
    write_store(path, ring, ids=names)
    with open_store(path) as store:
        assert export_edges(store, str(tmp_path / name)).edges == count
    source = open_source(tmp_path / name, InputOptions(), tmp_path, 1 << 24)
    found = {(source.names[int(a)], source.names[int(b)])
             for chunk in source.chunks() for a, b in zip(chunk.source, chunk.target, strict=True)}  # fmt: skip
    assert found == {(names[at], names[(at + 1) % count]) for at in range(count)}


@pytest.mark.parametrize("ids", [np.array([7, 5, 40, 1, 3]), list("zaqxb")])
def test_an_undirected_edge_begins_at_its_lesser_id(tmp_path, ids):
    """In any order of the store, also where its own numbers go the other way."""
    edges = [(0, 1), (0, 2), (2, 3), (2, 4), (3, 3)]
    text = tmp_path / "a.tsv"
    text.write_text("".join(f"{ids[a]}\t{ids[b]}\t{a}\n" for a, b in edges))
    wanted = sorted((*sorted([ids[a], ids[b]]), a) for a, b in edges)
    for order in ("natural", "degree"):
        source = open_source(text, InputOptions(), tmp_path, 1 << 24)
        convert(source, tmp_path / "g.gs", ConvertOptions(directed=False, order=order))
        with open_store(str(tmp_path / "g.gs")) as store:
            export_edges(store, str(tmp_path / "e.tsv"))
        rows = [line.split("\t") for line in (tmp_path / "e.tsv").read_text().splitlines()]
        kind = type(wanted[0][0])
        assert sorted((kind(a), kind(b), int(w)) for a, b, w in rows) == wanted


def test_refusals_leave_no_file(store, tmp_path):
    plain = str(tmp_path / "plain.gs")
    write_store(plain, random_edges())
    with open_store(plain) as unweighted, pytest.raises(UsageError, match="Export to .el instead"):
        export_edges(unweighted, str(tmp_path / "e.wel"))
    with pytest.raises(UsageError, match="--format xml: unknown; it is one of text, el"):
        export_edges(store, str(tmp_path / "e"), format="xml")
    with pytest.raises(UsageError, match="parquet compresses itself"):
        export_edges(store, str(tmp_path / "e.parquet.gz"))
    bad = tmp_path / "bad.gs"
    data = bytearray(Path(store.path).read_bytes())
    data[store.topology("out").pages_offsets[0] + 4096 * 3 + 50] ^= 4
    bad.write_bytes(data)
    with open_store(str(bad)) as damaged, pytest.raises(StoreError, match="page 3 of topology out"):
        export_edges(damaged, str(tmp_path / "e.txt"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.gs", "plain.gs"]


def test_info_adds_up(store, edges):
    facts = store_info(store, simd=True)
    json.dumps(facts, allow_nan=False)
    assert facts["vertices"] == 300 and facts["edges"] == len(edges.source)
    assert facts["ids"] == {"kind": "integers", "first": 2, "last": int(IDS[-1])}
    assert facts["weights"]["dtype"] == "f4"
    for name in ("out", "in"):
        part, topology = facts["topologies"][name], store.topology(name)
        assert part["pages"] == part["small_pages"] + part["large_pages"] == sum(part["group_sizes"].values())
        assert part["bytes"] == part["pages"] * 4096 and 0.5 < part["fill"] <= 1
        simd = part["simd"]
        assert set(simd) == {*map(str, GROUP_SIZES), "chosen"}
        assert simd["chosen"]["ME"] >= max(simd[str(size)]["ME"] for size in GROUP_SIZES)
        for row in simd.values():
            assert row["UA"] + row["UR"] + row["ME"] == pytest.approx(1) and row["edges"] == topology.edges
    assert facts["topologies"]["out"]["hubs"] == 1 and facts["topologies"]["in"]["hubs"] == 0


def test_info_of_an_empty_graph(tmp_path):
    write_store(str(tmp_path / "g.gs"), Edges(np.empty(0, "u8"), np.empty(0, "u8"), 0))
    with open_store(str(tmp_path / "g.gs")) as store:
        facts = store_info(store, simd=True)
        assert facts["mean_degree"] == 0 and facts["topologies"]["out"]["fill"] == 1
        assert export_edges(store, str(tmp_path / "e.csv")).edges == 0
    assert (tmp_path / "e.csv").read_text() == "source,target\n"
