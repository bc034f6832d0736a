"""Stores on several disks, as commands and Python calls take them."""

from __future__ import annotations

import json
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import gstream
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning.cost_equations import Constants
from gstream.programs.pagerank import PageRank
from pagestore import open_store
from pagestore.errors import StoreError, UsageError
from pagestore.stripes import stripes_of

GENERATE = ("rmat", "--scale", "11", "--edge-factor", "8", "--page-size", "4KiB", "--weights")
CAP = 100_000  # bytes: pages come from disk


@pytest.fixture
def apart(tmp_path, monkeypatch, gstream):
    """The store is in one folder, its stripes in two others; the same graph in one file."""
    monkeypatch.chdir(tmp_path)
    for name in ("store", "a", "b", "moved"):
        (tmp_path / name).mkdir()
    assert gstream("generate", *GENERATE, "plain.gs").returncode == 0
    done = gstream("generate", *GENERATE, "store/web.gs", "--stripe", "a,b", "--verify")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^stripes +a/web\.gs\.[0-9a-f]{8}\.0\.stripe, b/web\.gs\.[0-9a-f]{8}\.1\.stripe$", done.stdout, re.M
    )
    return tmp_path


def said(done, code=0) -> str:
    assert done.returncode == code, done.stderr
    return done.stdout


def test_every_command_finds_the_stripes(apart, gstream):
    """In the folders that are named, in any order and by several options."""
    facts = json.loads(said(gstream("info", "store/web.gs", "--stripe", "b", "--stripe", "a", "--json")))
    assert [Path(stripe["path"]).parent.name for stripe in facts["stripes"]] == ["a", "b"]
    assert facts["file_bytes"] == sum(path.stat().st_size for path in apart.rglob("*") if "web.gs" in path.name)
    assert "by stretches of" in said(gstream("info", "store/web.gs", "--stripe", "a,b"))
    assert "whole" in said(gstream("verify", "store/web.gs", "--stripe", "a,b"))
    for name in ("plain.gs", "store/web.gs"):
        stripes = ("--stripe", "a,b") if name != "plain.gs" else ()
        said(gstream("export", name, f"{Path(name).stem}.csv", *stripes))
        more = ("--host-memory", str(CAP), *stripes, "-o", f"{Path(name).stem}.ranks.csv")
        said(gstream("run", "pagerank", name, *more, "--iterations", "5", "--read-threads", "2"))
    assert Path("web.csv").read_bytes() == Path("plain.csv").read_bytes()
    assert Path("web.ranks.csv").read_bytes() == Path("plain.ranks.csv").read_bytes()


def test_a_plan_says_how_many_threads_read(apart, gstream, monkeypatch):
    monkeypatch.setattr("gstream.planning.calibration.cache_folder", lambda: apart / "nothing measured")
    monkeypatch.setattr("gstream.planning.calibration.measure", lambda workers: Constants())  # takes a second
    planned = ("plan", "pagerank", "store/web.gs", "--stripe", "a,b", "--host-memory", str(CAP))
    assert "from 2 disks ahead of use, by 1 thread each" in said(gstream(*planned, "--read-threads", "1"))
    facts = json.loads(said(gstream(*planned, "--read-threads", "auto", "--json")))
    assert (facts["read_threads"], facts["disks"]) == (3, 2)
    one = ("plan", "pagerank", "plain.gs", "--host-memory", str(CAP), "--read-threads", "4")
    assert "read from disk ahead of use, by 4 threads;" in said(gstream(*one))
    for value, words in (("0", "0 is too small"), ("65", "65 is too large"), ("few", "must be a whole number")):
        done = gstream(*planned, "--read-threads", value)
        assert done.returncode == 2 and f"--read-threads{'' if value != 'few' else ' '}" in done.stderr
        assert words in done.stderr


def test_what_is_missing_is_named(apart, gstream):
    for command in (["info"], ["verify"], ["run", "bfs"], ["plan", "pagerank"]):
        given = ["--source", "1"] if command[-1] == "bfs" else []
        done = gstream(*command, "store/web.gs", "--stripe", "a", *given)
        assert done.returncode == 4 and done.stderr.count("\n") == 1
        assert re.search(r"web\.gs: its stripe 1 of 2, web\.gs\.\w+\.1\.stripe, is not in a, store\. ", done.stderr)
        assert f"It was written to {apart}/b. Name the folders of its stripes: --stripe FOLDER.\n" in done.stderr
    with pytest.raises(StoreError, match=r"its stripe 0 of 2.*Name the folders of its stripes: stripe=FOLDER\."):
        gstream_open("store/web.gs", stripe="b")


def gstream_open(path, **options):
    return gstream.open(path, **options)


def test_folders_that_can_not_be(apart, gstream):
    for stripe, words in (
        ("a,nowhere", "--stripe nowhere: no such folder. Make it first, on a disk of its own."),
        ("a,plain.gs", "--stripe plain.gs: no such folder."),
        ("a,a", "is named twice. Name each folder once."),
        ("a,", "--stripe : no such folder."),
    ):
        done = gstream("generate", *GENERATE, "other.gs", "--stripe", stripe)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert not Path("other.gs").exists()
    done = gstream("generate", *GENERATE, "other.txt", "--stripe", "a")
    assert done.returncode == 2


def test_a_dry_run_tells_of_every_disk(apart, gstream):
    shown = said(gstream("generate", *GENERATE, "other.gs", "--stripe", "a,b", "--dry-run"))
    assert len(re.findall(r"^disk +\S.* of .* free at ", shown, re.MULTILINE)) >= 1
    facts = json.loads(said(gstream("generate", *GENERATE, "other.gs", "--stripe", "a,b", "--dry-run", "--json")))
    assert facts["stripes"] == 2 and sum(disk["needed"] for disk in facts["disks"]) >= facts["store_bytes"]


def test_no_output_takes_a_stripe_s_place(apart, gstream):
    """Also with --force: the store that it is part of would be lost."""
    stripe = os.path.relpath(stripes_of("store/web.gs", ["a", "b"])[0][0])
    before = Path(stripe).read_bytes()
    for command in (
        ["export", "plain.gs", stripe, "--format", "csv"], ["run", "pagerank", "plain.gs", "--trace", stripe],
        ["convert", "plain.csv", stripe],
    ):  # fmt: skip
        Path("plain.csv").write_text("1,2\n")
        done = gstream(*command, "--force")
        assert done.returncode == 2, done.stderr
        assert f"{stripe}: is part of a striped store, which writing would destroy. Name another file." in done.stderr
    assert Path(stripe).read_bytes() == before


def test_force_replaces_the_stripes_too(apart, gstream):
    before = set(os.listdir("a"))
    said(gstream("generate", *GENERATE[:2], "7", "store/web.gs", "--stripe", "a,b", "--force"))
    after = set(os.listdir("a"))
    assert len(after) == 1 and after != before
    done = gstream("generate", *GENERATE[:2], "6", "store/web.gs", "--force")
    assert "stripes of the store that is replaced were not found; remove them where they are" in done.stderr


def test_checkpoints_go_on_with_a_striped_store(apart, gstream):
    given = (
        "run",
        "pagerank",
        "store/web.gs",
        "--stripe",
        "a,b",
        "--host-memory",
        str(2 * CAP),
        "--checkpoint",
        "kept",
    )
    said(gstream(*given, "--checkpoint-every", "2", "--max-iter", "6"))
    shown = said(gstream(*given, "--resume", "--iterations", "9", "-o", "ranks.csv"))
    assert "resumed" in shown
    said(gstream("run", "pagerank", "plain.gs", "--iterations", "9", "-o", "plain.csv"))
    assert Path("ranks.csv").read_text() == Path("plain.csv").read_text()


def test_from_python(apart, monkeypatch):
    """Folders may be relative; a pickled graph finds them from elsewhere, and so do results of a closed one."""
    with gstream.open("plain.gs") as plain:
        expected = plain.pagerank(iterations=4)["pagerank"]
    with gstream.open("store/web.gs", stripe=["a", Path("b")], host_memory=2 * CAP, read_threads="auto") as graph:
        assert np.array_equal(graph.pagerank(iterations=4)["pagerank"], expected)
        assert graph.info["stripes"] == tuple(os.path.basename(name) for name in graph.info["stripes"])
        pickled = pickle.dumps(graph)
        assert graph.verify().ok
    monkeypatch.chdir("moved")
    with pickle.loads(pickled) as again:
        assert np.array_equal(again.pagerank(iterations=4)["pagerank"], expected)
    with gstream.open("../store/web.gs", stripe=["../b", "../a"]) as graph:
        assert len(graph) == 2048


def test_conversions_from_python(apart):
    edges = np.random.default_rng(1).integers(0, 500, (2, 4000))
    given = {"stripe": ["a", "b"], "page_size": 4096}
    with gstream.from_edges(*edges, store="arrays.gs", **given) as graph:
        assert graph.verify().ok and len(graph.conversion["stripes"]) == 2 and len(graph.store.stripes) == 2
    np.savetxt("edges.txt", edges.T, "%d")
    with gstream.convert("edges.txt", "text.gs", **given) as graph:
        assert len(graph.store.stripes) == 2 and graph.number_of_edges() == 4000
    with gstream.generate("grid", "grid.gs", scale=8, stripe="a") as graph:
        assert len(graph.store.stripes) == 1 and graph.verify().ok
    for make in (lambda: gstream.from_edges(*edges, **given), lambda: gstream.convert("edges.txt", **given)):
        with pytest.raises(UsageError, match='stripe: is for a store that stays. Name it, as store="web.gs"'):
            make()
    with pytest.raises(UsageError, match=r"stripe \S+/nowhere: no such folder"):
        gstream.from_edges(*edges, store="other.gs", stripe="nowhere")


@pytest.mark.parametrize("way", [{}, {"host_memory": CAP}, {"devices": "fake:3:2", "host_memory": 2 * CAP}], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_engines_read_by_a_pool_a_disk(apart, way, threads):
    """Answers are those of one file, whatever order reads end in."""
    options = RunOptions(**way, read_threads=threads, batch_bytes=1 << 14)
    with open_store("plain.gs") as plain, Engine(plain, RunOptions(devices=options.devices)) as engine:
        expected = engine.run(PageRank(tolerance=0.0), 5).value
    with open_store("store/web.gs", ["a", "b"]) as store, Engine(store, options) as engine:
        assert engine._readers.files == 2 and engine._readers.at_once == 2 * threads
        np.testing.assert_allclose(engine.run(PageRank(tolerance=0.0), 5).value, expected, rtol=1e-6)
