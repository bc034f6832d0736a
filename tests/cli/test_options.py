"""Options that would do nothing, contradict each other or are out of range are refused, in the command line's words."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from gstream.algorithms.declaration import SWITCH, VERTEX_SET, flag
from gstream.algorithms.registry import ALGORITHMS, OPTIONS
from gstream.cli.run_arguments import COUNTED, DRIVERS, OWN, singular
from tests.cli.command import EDGES, Command

LIST = (
    "x.txt is an edge list, which holds the edges as they come; the option is for stores (.gs). Leave it out, or make "
    "a store and export it: gstream export NAME.gs x.txt.\n"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rmat", "x.gs", "--scale", "64"], "--scale 64: out of range; it is 0 to 40.\n"),
        (["grid", "x.gs", "--scale", "-1"], "--scale -1: out of range; it is 0 to 40.\n"),
        (["rmat", "x.gs", "--edge-factor", "-1"], "--edge-factor -1: out of range; scale 20 takes 0 to 16777216.\n"),
        (
            ["grid", "x.gs", "--edge-factor", "16"],
            "--edge-factor: a grid has its own edges, one to the right and one down. Leave it out.\n",
        ),
        (["rmat", "x.txt", "--page-size", "1MiB"], f"--page-size: {LIST}"),
        (["rmat", "x.txt", "--dry-run"], f"--dry-run: {LIST}"),
        (["rmat", "x.txt", "--undirected"], f"--undirected: {LIST}"),
        (["rmat", "x.txt", "--topology", "out"], f"--topology: {LIST}"),
        (
            ["rmat", "x.gs", "--undirected", "--topology", "in"],
            "--topology in: the graph is undirected, and its one page set serves both directions. "
            "Leave the option out.\n",
        ),
    ],
)
def test_generate(tmp_path: Path, gstream: Command, arguments: list[str], message: str) -> None:
    done = gstream("generate", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--id-base", "1"], "--id-base: says which IDs --num-vertices N means. Pass that too, or drop the option.\n"),
        (["--id-base", "2", "--num-vertices", "9"], "--id-base 2: out of range; it is 0 or 1.\n"),
        (["--memory", "1"], "--memory 1: too little; the least that is honoured is 16 MiB.\n"),
        (["--memory", "2PiB"], "--memory 2PiB: too much; the limit is 1 PiB. Pass less.\n"),
        (["--page-size", "2GiB"], "--page-size 2147483648: too large; the limit is 1 GiB.\n"),
        (
            ["--undirected", "--topology", "in"],
            "--topology in: the graph is undirected, and its one page set serves both directions. "
            "Leave the option out.\n",
        ),
    ],
)
def test_convert(tmp_path: Path, gstream: Command, arguments: list[str], message: str) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    for more in ([], ["--dry-run"]):
        done = gstream("convert", "edges.txt", "graph.gs", *arguments, *more)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert os.listdir(tmp_path) == ["edges.txt"]


def test_undirected_by_its_header_and_in_pages(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    done = gstream("convert", "a.mtx", "graph.gs", "--topology", "in")
    assert (done.returncode, done.stderr[:14]) == (2, "--topology in:")
    assert gstream("convert", "a.mtx", "graph.gs", "--topology", "out").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scc", "--float64"], "--float64: is no option of scc, which has none of its own. Leave it out.\n"),
        (
            ["bfs", "--source", "1", "--tol", "1"],
            "--tol: is no option of bfs, which has --source, --depth-limit, --predecessors, --targets, --from. Leave "
            "it out.\n",
        ),
        (
            ["pagerank", "--iterations", "3", "--tol", "1e-3"],
            "--iterations and --tol contradict each other: one asks for exactly so many iterations, the other for as "
            "many as it takes. Drop one of them.\n",
        ),
        (
            ["pagerank", "--iterations", "3", "--max-iter", "5"],
            "--iterations and --max-iter contradict each other: one asks for exactly so many iterations, the other for "
            "as many as it takes. Drop one of them.\n",
        ),
        (["wcc", "--gpus", "0"], "--gpus 0: it must be 1 to 1024. Leave it out to run on the cores.\n"),
        (["wcc", "--gpus", "1025"], "--gpus 1025: it must be 1 to 1024. Leave it out to run on the cores.\n"),
        (["pagerank", "--param", "0.9"], "--param 0.9: must be NAME=VALUE, as --param damping=0.9.\n"),
        (["pagerank", "--param", "a b=1"], "--param a b=1: must be NAME=VALUE, as --param damping=0.9.\n"),
        (["bfs", "--source", "1", "--trace", "no/run.json"], "no/run.json: folder no does not exist. Make it first.\n"),
    ],
)
def test_run(store: Path, gstream: Command, arguments: list[str], message: str) -> None:
    done = gstream("run", arguments[0], store, *arguments[1:])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_a_graph_without_vertices_has_no_plan(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "none.txt").write_text("# nothing\n")
    assert gstream("convert", "none.txt", "none.gs", "--num-vertices", "0").returncode == 0
    done = gstream("plan", "pagerank", "none.gs")
    assert (done.returncode, done.stderr) == (2, "none.gs: has no vertices, so there is nothing to plan.\n")


def test_an_edge_list_is_reported_in_words_or_as_json(tmp_path: Path, gstream: Command) -> None:
    done = gstream("generate", "grid", "a.txt", "--scale", "4")
    assert done.returncode == 0 and re.fullmatch(r"a\.txt: 24 edges, \d+ B\n", done.stdout)
    found = json.loads(gstream("generate", "grid", "b.txt", "--scale", "4", "--json").stdout)
    assert found == {"path": "b.txt", "edges": 24, "bytes": (tmp_path / "b.txt").stat().st_size}


def test_plan_speaks_as_run_does(store: Path, gstream: Command) -> None:
    planned, run = gstream("plan", "sssp", store), gstream("run", "sssp", store, "--source", "1")
    assert planned == run
    assert planned.returncode == 2
    assert planned.stderr.startswith("graph.gs: has no edge weights, which sssp needs. Convert again")


def test_help_says_the_defaults_of_algorithms(gstream: Command) -> None:
    said = {line[0]: " ".join(line[1:]) for line in options_of(gstream("run", "--help").stdout)}
    for algorithm in ALGORITHMS.values():
        for name, default in algorithm.defaults.items():
            if default is not None and default is not False:
                shown = "yes" if default is True else default if isinstance(default, str) else f"{default:g}"
                assert re.search(rf"default .*\b{shown}\b", said[flag(name)]), (algorithm.name, name, default)


def test_help_is_in_groups(gstream: Command) -> None:
    headings = re.findall(r"^(\w.*):$", gstream("run", "--help").stdout, re.MULTILINE)
    assert headings == ["Arguments", "Algorithms", OWN, *DRIVERS, "Other"]
    headings[3:3] = COUNTED
    assert re.findall(r"^(\w.*):$", gstream("plan", "--help").stdout, re.MULTILINE) == headings


def test_help_of_an_algorithm_has_its_own_options(gstream: Command) -> None:
    for name, algorithm in ALGORITHMS.items():
        text = gstream("run", name, "--help").stdout
        assert f"{name}: {algorithm.title}."[:50] in " ".join(text.split())
        _, heading, rest = text.partition(f"Options of {name}:\n")
        shown = {words[0] for words in options_of(rest.partition("\n\n")[0] + "\n")}
        singles = {flag(singular(option.name)) for option in algorithm.options if option.kind == VERTEX_SET}
        assert shown == {flag(option) for option in algorithm.defaults} | singles
        assert bool(heading) == bool(shown) and ("--certify" in text) == bool(algorithm.proof)
        words = " ".join(text.split())
        assert all(option.help and f"{option.help}" in words for option in algorithm.options)


def test_options_of_other_algorithms_are_refused(store: Path, gstream: Command) -> None:
    """By the declarations, in the words of the command line."""
    for number, (name, algorithm) in enumerate(ALGORITHMS.items()):
        own = ", ".join(flag(option) for option in algorithm.defaults) or "none of its own"
        others = [option for option in OPTIONS.values() if option.name not in algorithm.defaults]
        option = others[number % len(others)]
        asked = [flag(option.name), *(["1"] if option.kind != SWITCH else [])]
        done = gstream("run", name, store, *asked)
        assert (done.returncode, done.stdout) == (2, ""), (name, asked)
        assert done.stderr == f"{asked[0]}: is no option of {name}, which has {own}. Leave it out.\n"


def options_of(text: str) -> list[list[str]]:
    """The words of each option in what --help prints, its name first."""
    return [words.split() for words in re.findall(r"^  (--.*\n(?: {20}.*\n)*)", text, re.MULTILINE)]


def test_help_says_what_takes_float64(gstream: Command) -> None:
    assert "pagerank, sssp, rwr: values in double" in " ".join(gstream("run", "--help").stdout.split())


@pytest.mark.parametrize("name", ["x.foo", "x", "x.foo.gz", "x.npy"])
def test_export_by_an_unknown_ending(store: Path, gstream: Command, name: str) -> None:
    done = gstream("export", store, name)
    assert (done.returncode, done.stderr) == (
        2,
        f"{name}: the ending says the format; known are .txt, .tsv, .el, .wel, .csv, .parquet, also with .gz or .zst. "
        f"Rename it, or pass --format.\n",
    )
    assert not Path(name).exists()
    assert gstream("export", store, "any.foo", "--format", "text").returncode == 0


def test_every_message_ends_its_sentence(store: Path, gstream: Command) -> None:
    for arguments in (
        ["run", "wcc", store, "--threads", "0"],
        ["run", "wcc", store, "--devices", "abacus"],
        ["run", "wcc", store, "--cache", "big"],
        ["run", "wcc", store, "--devices", "cuda:0"],
        ["run", "wcc", store, "--no-such-option"],
    ):
        assert gstream(*arguments).stderr.endswith(".\n"), arguments


def test_trace(store: Path, gstream: Command) -> None:
    assert gstream("run", "bfs", store, "--source", "1", "--trace", "run.json").returncode == 0
    events = json.loads(Path("run.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}


def test_more_memory_than_the_machine_has(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    for command in (["convert", "edges.txt", "g.gs"], ["generate", "grid", "g.gs", "--scale", "4"]):
        done = gstream(*command, "--memory", "900TiB")
        assert done.returncode == 2
        assert re.fullmatch(
            r"--memory 900TiB: this machine, or its container, has [\d.]+ .iB\. Pass less\.\n", done.stderr
        )
    assert os.listdir(tmp_path) == ["edges.txt"]


def test_threads_have_a_limit_everywhere(store: Path, gstream: Command) -> None:
    for command in (
        ["convert", "edges.txt", "new.gs"],
        ["generate", "grid", "new.gs", "--scale", "4"],
        ["generate", "grid", "new.txt", "--scale", "4"],
        ["verify", store],
        ["run", "wcc", store],
        ["plan", "wcc", store],
    ):
        for threads in ("0", "100000"):
            done = gstream(*command, "--threads", threads)
            assert done.returncode == 2, command
            assert done.stderr.startswith(f"--threads {threads}: it must be 1 to "), command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["convert", "edges.txt"],
            "the argument STORE, the name of the store to write, is missing. "
            "Write gstream convert [OPTIONS] INPUT... STORE.",
        ),
        (["run", "bfs"], "Missing argument 'STORE'. Write gstream run [OPTIONS] ALGORITHM STORE."),
        (["info", "a.gs", "b.gs"], "Got unexpected extra argument(s) (b.gs). Write gstream info [OPTIONS] STORE."),
    ],
)
def test_arguments_that_are_missing_or_too_many(gstream: Command, arguments: list[str], said: str) -> None:
    done = gstream(*arguments)
    assert (done.returncode, done.stderr) == (2, f"gstream {arguments[0]}: {said} See gstream {arguments[0]} --help.\n")


def test_an_input_that_cannot_be_read(tmp_path: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not taken for an argument that is missing."""
    (tmp_path / "edges.txt").write_text(EDGES)
    (tmp_path / "more.txt").write_text(EDGES)
    allowed = os.access

    def access(path: str | Path, mode: int, **how: bool) -> bool:
        return allowed(path, mode, **how) and not (str(path).endswith("edges.txt") and mode & os.R_OK)

    monkeypatch.setattr(os, "access", access)
    for arguments in (["edges.txt", "a.gs"], ["more.txt", "edges.txt", "a.gs"], ["edges.txt", "a.gs", "--dry-run"]):
        done = gstream("convert", *arguments)
        said = "edges.txt: permission denied. Make the file readable.\n"
        assert (done.returncode, done.stdout, done.stderr) == (4, "", said)
    assert sorted(os.listdir(tmp_path)) == ["edges.txt", "more.txt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["convert", "edges.txt", "other.gs", "--directed", "--undirected"], "--directed and --undirected"),
        (["run", "bfs", "graph.gs", "--no-predecessors", "--predecessors"], "--predecessors and --no-predecessors"),
        (["run", "katz", "graph.gs", "--normalized", "--no-normalized"], "--normalized and --no-normalized"),
    ],
)
def test_a_switch_that_is_given_both_ways(store: Path, gstream: Command, arguments: list[str], said: str) -> None:
    done = gstream(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{said} contradict each other. Pass one of the two.\n"
    assert not Path("other.gs").exists()


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--tolerance", " Did you mean --tol?"),
        ("--weights", " Did you mean --weighted?"),
        ("--nonsense", ""),
        ("--damping", " Did you mean --alpha?"),
    ],
)
def test_an_option_that_is_misspelt(store: Path, gstream: Command, option: str, meant: str) -> None:
    done = gstream("run", "pagerank", store, option, "1")
    said = f"gstream run: No such option: {option}.{meant} See gstream run --help.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run pagerank {} --tol abc", "--tol abc: must be a number."),
        ("run pagerank {} --threads=2.5", "--threads 2.5: must be a whole number."),
        ("convert {} other.gs --threads many", "--threads many: must be a whole number."),
    ],
)
def test_values_that_are_no_numbers(store: Path, gstream: Command, words: str, said: str) -> None:
    done = gstream(*words.format(store).split())
    command = f"gstream {words.split()[0]}"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{command}: {said} See {command} --help.\n"


def test_a_mistake_in_a_file_of_the_user_s_is_no_bug_of_ours(tmp_path: Path, store: Path, gstream: Command) -> None:
    text = "import gstream\n\n@gstream.algorithm\ndef mine(sweeps):\n    return {}['ranks']\n"
    (tmp_path / "mine.py").write_text(text)
    done = gstream("run", "mine.py", store)
    said = "mine.py:5: KeyError: 'ranks'. Mend the file; GSTREAM_DEBUG=1 shows the traceback.\n"
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(said)


def test_several_vertices_are_given_one_by_one(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "near.py").write_text(
        "from gstream import *\n\nclass Near(Program):\n    combine, value = MIN, u32\n    sources: Vertices\n"
        "    far: int = 0\n\n    def start(self, v, g):\n        return 0 if v.id in self.sources else INF\n\n"
        "    def send(self, u, e, g):\n        return u.value + 1\n"
    )
    words = ["--param", "sources=1", "--param", "sources=4", "-o", "near.csv"]
    assert gstream("run", "near.py", store, *words).returncode == 0
    rows = (tmp_path / "near.csv").read_text().split()
    assert "1,0" in rows and "4,0" in rows
    done = gstream("run", "near.py", store, *words[:4], "--param", "far=1", "--param", "far=2")
    assert done.returncode == 2 and "parameter far is ['1', '2']; it has one value. Pass it once." in done.stderr
