"""A user's mistakes and the exit codes that they end with: 2 change the command line, 4 change the file, 3 and 5."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pagestore import errors
from tests.cli.command import EDGES, PROGRAM, ROOT, Command

MISTAKES = {
    2: (  # change the command line
        "fly",
        "run",
        "run bfs graph.gs --source 1 --speed 9",
        "run walk graph.gs",
        "run bfs graph.gs",
        "run bfs graph.gs --source 99",
        "run bfs graph.gs --source one",
        "run bfs graph.gs --source 1 --alpha .5",
        "run bfs graph.gs --source 1 --devices abacus",
        "run bfs graph.gs --source 1 --threads 0",
        "run bfs graph.gs --source 1 --gpus 0",
        "run bfs graph.gs --source 1 --gpus 999999999999",
        "run bfs graph.gs --source 1 --host-memory lots",
        "run bfs graph.gs --source 1 --host-memory 900TiB",
        "run bfs graph.gs --source 1 -o out.doc",
        "run bfs graph.gs --source 1 -o no/out.csv",
        "run bfs graph.gs --source 1 -o folder.csv",
        "run bfs graph.gs --source 1 -o graph.gs --ldbc",
        "run bfs graph.gs --source 1 -o there.csv",
        "run bfs graph.gs --source 1 --trace no/run.json",
        "run sssp graph.gs --source 1",
        "run pagerank out.gs --direction pull",
        "run pagerank graph.gs --alpha 2",
        "run broken.py graph.gs",
        "run least.py:Most graph.gs",
        "run least.py graph.gs --param bios=1",
        "run least.py graph.gs --param bias=x",
        "plan bfs graph.gs --source 99",
        "convert edges.txt graph.gs",
        "convert edges.txt no/new.gs",
        "convert edges.txt new.gs --workdir no",
        "convert edges.txt new.gs --format fancy",
        "convert edges.txt new.gs --order size",
        "convert edges.txt new.gs --page-size 3KiB",
        "convert edges.txt new.gs --weight-column 9",
        "convert edges.txt new.gs --weight-column miles",
        "convert edges.parquet new.gs --weight-column miles",
        "convert edges.txt new.gs --memory 1",
        "convert square.mtx new.gs --num-vertices 9",
        "generate ring new.gs",
        "generate grid new.gs --scale 99",
        "export graph.gs new.foo",
        "export graph.gs new.wel",
        "export graph.gs there.csv",
        "verify graph.gs --threads 100000",
        "show walk",
        "doctor --disk no",
    ),
    3: ("run bfs graph.gs --source 1 --devices cuda:99", "plan bfs graph.gs --gpus 99"),
    4: (  # change the file
        "run bfs none.gs --source 1",
        "export edges.txt x.csv",
        "run bfs cut.gs --source 1",
        "run none.py:Least graph.gs",
        "run sssp negative.gs --source 1",
        "run pagerank graph.gs --personalization none.txt",
        "run pagerank graph.gs --personalization stranger.txt",
        "plan bfs none.gs",
        "info none.gs",
        "info edges.txt",
        "verify cut.gs",
        "export cut.gs new.csv",
        "convert none.txt new.gs",
        "convert folder.csv new.gs",
        "convert empty.txt new.gs",
        "convert bad.txt new.gs",
        "convert graph.gs new.gs",
        "convert edges.txt new.gs --num-vertices 3",
        "convert edges.txt square.mtx new.gs",
    ),
    5: ("run bfs graph.gs --source 1 --host-memory 100", "plan bfs graph.gs --devices fake:1 --device-memory 100"),
}


def make_files(gstream: Command) -> None:
    """What the mistakes are made with."""
    import pyarrow as pa
    from pyarrow import parquet

    for name, text in (
        ("empty.txt", ""),
        ("bad.txt", "1 2\n3 -4\n"),
        ("negative.txt", "1 2 0.5\n2 3 -1.5\n"),
        ("square.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n"),
        ("stranger.txt", "99 1\n"),
        ("there.csv", "an answer\n"),
        ("least.py", PROGRAM),
        ("broken.py", "from gstream import\n"),
    ):
        Path(name).write_text(text)
    Path("folder.csv").mkdir()
    parquet.write_table(pa.table({"source": [1, 2], "target": [2, 3]}), "edges.parquet")
    Path("cut.gs").write_bytes(Path("graph.gs").read_bytes()[:-1000])
    assert gstream("convert", "negative.txt", "negative.gs").returncode == 0
    assert gstream("convert", "edges.txt", "out.gs", "--topology", "out").returncode == 0


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes(store: Path, gstream: Command, code: int) -> None:
    make_files(gstream)
    before = sorted(os.listdir())
    for mistake in MISTAKES[code]:
        done = gstream(*mistake.split())
        assert done.returncode == code, (mistake, done.stderr)
        assert done.stdout == "", mistake
        assert done.stderr.endswith((".\n", "?\n")) and "internal error" not in done.stderr, (mistake, done.stderr)
        if mistake != "verify cut.gs":  # names each problem
            assert done.stderr.count("\n") == 1, (mistake, done.stderr)
        assert sorted({*os.listdir()} - {"__pycache__"}) == before, mistake  # Python's own, of programs
    assert Path("there.csv").read_text() == "an answer\n"
    assert Path("edges.txt").read_text() == EDGES


def test_the_docs_list_every_code() -> None:
    page = ROOT / "docs" / "pages" / "reference" / "exit-codes.md"
    listed = re.search(r"Exit codes:\n\n(.*?)\n\n", page.read_text(), re.DOTALL)
    assert listed is not None
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")]
    for code in {*(kind.exit_code for kind in kinds), 130, 141, 143}:
        assert re.search(rf"\b{code}\b", listed.group(1)), code
        assert re.search(rf"^ .*\b{code}\b", errors.__doc__ or "", re.MULTILINE), code
