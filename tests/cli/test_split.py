"""`gstream split`, `convert --parts`, and the commands that take a graph in parts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import gstream as package
from pagestore.errors import UsageError
from pagestore.manifest import read_manifest
from tests.cli.command import Command

GENERATE = ("generate", "rmat", "web.gs", "--scale", "10", "--edge-factor", "8", "--page-size", "4KiB")


@pytest.fixture
def web(gstream: Command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert gstream(*GENERATE).returncode == 0
    return tmp_path


def test_a_store_is_split_shown_checked_and_exported(gstream: Command, web):
    done = gstream("split", "web.gs", "web.parts", "--parts", "2", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [part["file"] for part in said["parts"]] == ["part-00000.gs", "part-00001.gs"]
    facts = json.loads(gstream("info", "web.parts", "--json").stdout)
    assert facts["edges"] == 8192 and facts["balance"]["edges"]["mean"] == 8192
    assert facts["manifest"]["parts"] == said["parts"]
    shown = gstream("info", "web.parts").stdout
    assert "mpiexec -n 2 starts a run" in shown and shown.splitlines()[-3].split() == [
        "part", "pages", "stored", "edges", "mirrors", "bytes",
    ]  # fmt: skip
    assert gstream("verify", "web.parts").stdout.startswith("web.parts: whole.")
    for store in ("web.gs", "web.parts"):
        assert gstream("export", store, f"{store}.txt").returncode == 0
    assert (web / "web.gs.txt").read_bytes() == (web / "web.parts.txt").read_bytes()
    plan = gstream("plan", "pagerank", "web.parts")
    assert plan.returncode == 0 and "on web.parts, 2 ranks, each with" in plan.stdout
    planned = json.loads(gstream("plan", "pagerank", "web.parts", "--json").stdout)
    parts = read_manifest("web.parts").parts
    assert planned["mirrors"] == max(part.mirrors["in"] for part in parts)
    assert planned["part_bytes"] == max(Path("web.parts", part.file).stat().st_size for part in parts)


def test_parts_without_pages_are_said(gstream: Command, web):
    (web / "edges.txt").write_text("1 2\n")
    assert gstream("convert", "edges.txt", "one.gs").returncode == 0
    said = "2 of 3 parts have no pages, because the graph has too few. Their ranks will have nothing to do."
    assert said in gstream("split", "one.gs", "one.parts", "--parts", "3").stderr
    with pytest.warns(UserWarning, match="2 of 3 parts have no pages") as warned:
        package.split("one.gs", "one.parts", 3, force=True)
    assert warned[0].filename == __file__
    assert "no pages" not in gstream("split", "web.gs", "web.parts", "--parts", "2").stderr


def test_one_process_is_told_how_to_start_ranks(gstream: Command, web):
    assert gstream("split", "web.gs", "web.parts", "--parts", "2").returncode == 0
    (web / "edges.txt").write_text("1 2\n")
    for store in ("web.parts", "web.parts/part-00001.gs"):
        done = gstream("run", "wcc", store)
        assert done.returncode == 2 and "mpiexec -n 2 gstream run ALGORITHM web.parts." in done.stderr
        changed = gstream("update", store, "new.gs", "--add", "edges.txt")
        assert (
            changed.returncode == 2
            and changed.stderr.startswith(f"{store}: ")
            and len(changed.stderr.splitlines()) == 1
        )
        assert "Update the store that was split" in changed.stderr and not (web / "new.gs").exists()
    again = gstream("split", "web.gs", "web.parts", "--parts", "3")
    assert again.returncode == 2 and "exists. Pass --force" in again.stderr


def test_an_edge_list_becomes_parts(gstream: Command, web):
    assert gstream("export", "web.gs", "edges.txt").returncode == 0
    done = gstream("convert", "edges.txt", "new.parts", "--parts", "2", "--page-size", "4KiB", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert len(said["split"]["parts"]) == 2 and said["edges"] == 8192
    assert sorted(os.listdir(web)) == ["edges.txt", "new.parts", "web.gs"]
    again = gstream("convert", "edges.txt", "new.parts", "--parts", "2")
    assert again.returncode == 2 and "exists. Pass --force" in again.stderr


def test_python_splits_in_its_own_words(web):
    heard: list[tuple[int, int]] = []
    made = package.split("web.gs", "web.parts", 2, progress=lambda *counts: heard.append(counts))
    assert made["path"] == "web.parts" and heard[-1][0] == heard[-1][1] > 0
    with pytest.raises(UsageError) as told:
        package.split("web.gs", "web.parts", 2)
    assert "Pass force=True to" in str(told.value)
    with pytest.raises(UsageError, match="mpiexec -n 2"):
        package.open("web.parts")
