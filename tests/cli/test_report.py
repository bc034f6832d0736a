"""Reports: one file that holds everything, of what the run gave, whatever names it meets."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gstream as gs
from gstream.reporting import page, timelines
from gstream.reporting.timelines import kind_of, lanes_of
from pagestore.errors import InputError, LibraryMissingError, UsageError
from tests.cli.command import PROGRAM, Command

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

VOID = {"meta", "link", "br", "hr", "img", "input"}
LOADING = ("src", "href", "xlink:href", "data", "poster", "action", "srcset")
SECTIONS = ["asked", "answer", "supersteps", "timeline", "compared", "again"]


class Page(HTMLParser):
    """A parsed report: every tag is closed in turn; texts, IDs and references are kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.events: list[str] = []
        self.sections: list[str] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.styles = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: value or "" for name, value in attrs}
        self.ids += [named["id"]] if "id" in named else []
        self.references += [named[name] for name in LOADING if name in named]
        self.events += [name for name in named if name.startswith("on")]
        self.styles += named.get("style", "") + ";"
        if tag == "section":
            self.sections.append(named["id"])
        if tag == "tr":
            self.rows.append([])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles += data
        elif self.open and self.open[-1] in ("td", "th") and self.rows:
            self.rows[-1].append(data)
        self.words.append(data)

    def check_alone(self) -> None:
        """Nothing is loaded from elsewhere, nothing is a script, no ID stands twice."""
        assert not {"script", "iframe", "object", "embed", "link", "base", "form", "image", "img"} & set(self.tags)
        assert all(reference.startswith("#") for reference in self.references), self.references
        assert {reference[1:] for reference in self.references} <= set(self.ids)
        assert not self.events and len(self.ids) == len(set(self.ids))
        assert not re.findall(r"url\((?!#)|@import", self.styles)


def read(path: str | Path) -> Page:
    found = Page(Path(path).read_text())
    found.check_alone()
    return found


def test_a_report_tells_of_the_run(store: Path, gstream: Command) -> None:
    done = gstream("run", "pagerank", store, "--report", "run.html", "--trace", "run.json", "--json")
    assert done.returncode == 0, done.stderr
    summary, found = json.loads(done.stdout), read("run.html")
    assert found.sections == [*SECTIONS[:3], "rates", *SECTIONS[3:]] and found.tags.count("svg") >= 3
    words = "".join(found.words)
    assert words.count(f"gstream run pagerank {store} --report run.html --trace run.json --json") == 2
    assert ["3", f"{summary['top'][0]['pagerank']:.6g}"] in found.rows
    last = summary["stats"]["per_superstep"][-1]
    assert [str(summary["supersteps"]), last["direction"], str(last["frontier"])] in [row[:3] for row in found.rows]
    assert any(row[:1] == ["time of the supersteps"] for row in found.rows)
    assert not any("the table has all" in text or "resumed" in text for text in found.words)
    assert any(row[0] == "host:0: pages of in" for row in found.rows if row)
    assert "prefers-color-scheme: dark" in found.styles
    # what comes later would override the print's
    assert found.styles.index("@media print") > found.styles.index("figcaption, .note")
    assert "fill: currentColor" in found.styles and "#0102" not in found.styles

    assert gstream("report", "run.json", "-o", "again.html").stdout == "again.html\n"
    assert Path("again.html").read_text() == Path("run.html").read_text()


def test_a_report_can_be_read_in_the_light_in_the_dark_and_in_print() -> None:
    """WCAG 2.2: 4.5 of text to what is behind it, captions' opacity in it (1.4.3); 3 of what is drawn (1.4.11)."""
    text = page.TEMPLATE.read_text()
    faded = float(re.search(r"\.note \{[^}]*opacity: ([.0-9]+)", text)[1])  # type: ignore[index]
    palettes = [dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in re.findall(r":root \{([^}]*)\}", text)]
    assert len(palettes) == 3 and all(palette.keys() == palettes[0].keys() for palette in palettes)
    for palette in palettes:
        colours = {name: [int(value, 16) / 255 for value in re.findall("..", digits if len(digits) == 6 else
                   "".join(2 * digit for digit in digits))] for name, digits in
                   ((name, colour[1:]) for name, colour in palette.items())}  # fmt: skip
        ink, paper = colours["ink"], colours["paper"]
        caption = [faded * ink[at] + (1 - faded) * paper[at] for at in range(3)]
        assert min(contrast(ink, paper), contrast(ink, colours["soft"]), contrast(caption, paper)) >= 4.5
        assert min(contrast(colours[name], paper) for name in colours if name.startswith("series")) >= 3


def contrast(one: list[float], other: list[float]) -> float:
    """WCAG's contrast ratio of two colours, each red, green and blue from 0 to 1."""
    bright = [
        sum(part * (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
            for part, share in zip((0.2126, 0.7152, 0.0722), colour, strict=True)) for colour in (one, other)
    ]  # fmt: skip
    return (max(bright) + 0.05) / (min(bright) + 0.05)


def test_supersteps_of_a_report_go_on_behind_a_checkpoint_and_compiling_stands_apart(
    store: Path, gstream: Command
) -> None:
    """A run is resumed; its trace then says what machines differ in."""
    command = ["run", "pagerank", store, "--checkpoint", "kept", "--checkpoint-every", "2"]
    gstream(*command, "--iterations", "5")
    done = gstream(*command, "--iterations", "7", "--resume", "--trace", "run.json", "--report", "run.html")
    assert done.returncode == 0, done.stderr
    found = read("run.html")
    assert any("Supersteps 1 to 5 were made before" in text for text in found.words)
    trace = json.loads(Path("run.json").read_text())
    facts = trace["otherData"]["gstream"]
    steps = facts["stats"]["per_superstep"]
    assert [row[0] for row in found.rows if row[1:2] == [steps[0]["direction"]]] == ["6", "7"]
    for seconds, head in ((2.5, "compiling"), (0.0, "time")):
        steps[0]["compile_seconds"], facts["summary"]["supersteps"] = seconds, 6
        steps[0]["timed"], steps[1]["timed"] = True, not seconds  # the first one may not be, where nothing is compiled
        Path("run.json").write_text(json.dumps(trace))
        assert gstream("report", "run.json", "-o", "again.html", "--force").returncode == 0
        found = read("again.html")
        assert any("not measured one by one" in text for text in found.words) == bool(seconds)
        assert any(row[:1] == ["7"] and "~ " in "".join(row) for row in found.rows) == bool(seconds)
        assert next(row for row in found.rows if row[:1] == ["superstep"])[-1] == head
        assert (next(row for row in found.rows if row[:2] == ["6", steps[0]["direction"]])[-1] == "2.5 s") == bool(
            seconds
        )
        assert any("names 6 supersteps; the table has all 2 that" in " ".join(text.split()) for text in found.words)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["wcc", "degrees", "bfs --source 1", "subgraph --node 1 --node 2"])
def test_answers_of_every_kind(algorithm: str, store: Path, gstream: Command) -> None:
    name, *options = algorithm.split()
    done = gstream("run", name, store, *options, "--report", "run.html")
    assert done.returncode == 0, done.stderr
    found = read("run.html")
    assert {"asked", "answer", "compared", "again"} <= set(found.sections)
    assert ("distribution" in "".join(found.ids)) == (name != "subgraph")


def test_hostile_names_stay_text(gstream: Command, tmp_path: Path) -> None:
    names = ["<script>alert(1)</script>", 'x"><img/src=x/onerror=alert(1)>', "$x_{1}$", "&lt;b&gt;", "</style></svg>"]
    Path('<b>&".txt').write_text("".join(f"{name}\t{names[0]}\n" for name in names))
    hostile = "a<i>&'\".gs"
    assert gstream("convert", '<b>&".txt', hostile, "--string-ids").returncode == 0
    assert gstream("run", "pagerank", hostile, "--report", "r.html", "--trace", "t.json").returncode == 0
    found = read("r.html")
    assert {row[0] for row in found.rows if row} >= set(names)
    trace = json.loads(Path("t.json").read_text())
    for event in trace["traceEvents"]:
        event["name"] = names[1] if event["ph"] == "X" else event["name"]
        event.get("args", {})["name"] = names[0]
    Path("t.json").write_text(json.dumps(trace))
    assert gstream("report", "t.json").returncode == 0
    assert any(row and row[0].startswith(names[0]) for row in read("t.html").rows)


def test_nothing_half_written(store: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("run.html").write_text("old")
    done = gstream("run", "pagerank", store, "--report", "run.html")
    assert (done.returncode, done.stderr) == (
        2, "run.html: exists. Pass --force to replace it, or another name.\n",
    )  # fmt: skip
    monkeypatch.setattr(page, "render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        page.write_report("run.html", None, [])
    assert Path("run.html").read_text() == "old"
    assert gstream("run", "pagerank", store, "--report", store, "--force").returncode == 2
    assert gstream("run", "pagerank", store, "--report", "a.html", "--trace", "a.html").returncode == 2
    assert gstream("run", "pagerank", store, "--report", "no/a.html").returncode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is not JSON"),
        ("[]", "is no trace as gstream run --trace writes them"),
        ('{"otherData": {}, "traceEvents": [{"ph": "X"}]}', "not those of a Chrome trace"),
        ('{"otherData": {"gstream": {"format": 99}}, "traceEvents": []}', "another version"),
        ('{"otherData": {"gstream": {"format": 1}}, "traceEvents": []}', "not those of a run"),
    ],
)
def test_what_is_no_trace_is_refused(text: str, said: str, gstream: Command) -> None:
    Path("t.json").write_text(text)
    done = gstream("report", "t.json")
    assert done.returncode == 4 and said in done.stderr and not Path("t.html").exists()
    assert gstream("report", "none.json").returncode == 4


def test_a_trace_alone_shows_its_time_lines(gstream: Command) -> None:
    spans = [{"ph": "X", "name": f"copy {n}", "pid": 1, "tid": n % 2, "ts": 1e5 * n, "dur": 5e4} for n in range(10)]
    Path("t.json").write_text(json.dumps({"otherData": {}, "traceEvents": spans}))
    assert gstream("report", "t.json").returncode == 0
    assert read("t.html").sections == ["timeline"]


def test_lanes_hold_all_time_and_stay_few() -> None:
    spans = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 4e6}]
    spans += [{"ph": "X", "name": f"b, {n}", "pid": 1, "tid": n % 4, "ts": n * 10, "dur": 1} for n in range(1000)]
    (whole, many), seconds = lanes_of(spans)
    assert (seconds, whole.busy, many.spans) == (4.0, 4.0, 1000)
    assert whole.bars == [(0.0, pytest.approx(4.0), 1.0)]
    assert many.bars == [(0.0, pytest.approx(4 / 240), 0.25)]
    with pytest.raises(InputError):
        lanes_of([{"ph": "X"}])
    named = ["reduce vertices 0 to 99", "take in vertices 0 to 9 of the cores", "superstep 3 of 7", "12 pages of out"]
    assert list(map(kind_of, named)) == [
        "reduce vertices",
        "take in vertices of the cores",
        "superstep",
        "pages of out",
    ]


def test_each_rank_has_a_lane() -> None:
    """However many kinds of work of others are busier; in order of their numbers."""
    many = [("rank 10: host", f"kind {chr(97 + at)}", 50) for at in range(timelines.MOST_LANES)]
    spans = [*many, ("rank 2: host", "superstep", 1), ("rank 2: host", "read", 2)]
    events = [{"ph": "M", "name": "process_name", "pid": name, "args": {"name": name}} for name, *_ in spans]
    events += [{"ph": "X", "name": kind, "pid": name, "tid": 0, "ts": 0, "dur": long} for name, kind, long in spans]
    lanes = lanes_of(events)[0]
    assert [lane.label for lane in lanes[:2]] == ["rank 2: host: read", "rank 2: host: superstep"]
    assert len(lanes) == timelines.MOST_LANES and {lane.process for lane in lanes[2:]} == {"rank 10: host"}


def test_reports_from_python(store: Path, gstream: Command) -> None:
    Path("least.py").write_text(PROGRAM)
    seen: list[int] = []
    with gs.open(store) as graph:
        result = graph.bfs(source=1, report="bfs.html", progress=lambda number, step: seen.append(number))
        graph.run("least.py:Least", bias=2, report="own.html")
        with pytest.raises(UsageError, match="report 3: is no path"):
            graph.bfs(source=1, report=3)
        with pytest.raises(UsageError, match="is the input"):
            graph.bfs(source=1, report=store)
        before = Path("bfs.html").read_bytes(), Path("own.html").read_bytes()
        with pytest.raises(UsageError, match="bfs.html: exists. Pass force=True to replace it"):
            graph.bfs(source=1, report="bfs.html")
        with pytest.raises(UsageError, match="own.html: exists. Pass force=True to replace it"):
            graph.run("least.py:Least", bias=2, report="own.html")
        assert before == (Path("bfs.html").read_bytes(), Path("own.html").read_bytes())
        with pytest.raises(UsageError, match="force: replaces the file of report="):
            graph.bfs(source=1, force=True)
        graph.run("least.py:Least", bias=2, report="own.html", force=True)
        assert before[1] != Path("own.html").read_bytes()
    assert seen == list(range(1, result.summary["supersteps"] + 1))
    assert "graph.bfs(source=1, progress=" in "".join(read("bfs.html").words)
    assert "graph.run('least.py:Least', bias=2)" in "".join(read("own.html").words)


def test_missing_libraries_are_named(store: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    done = gstream("run", "pagerank", store, "--report", "run.pdf")
    assert done.returncode == 2 and "run.pdf: a report is a page; its ending is .html" in done.stderr
    done = gstream("run", "pagerank", store, "--report", "run.html")
    assert done.returncode == 3 and "pip install 'gstream[report]'" in done.stderr
    with pytest.raises(LibraryMissingError, match="jinja2"):
        page.check_report("run.html")


def test_within_the_caps(store: Path, gstream: Command) -> None:
    done = gstream("run", "pagerank", store, "--host-memory", "4MiB", "--report", "run.html", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stats"]["peak_memory_bytes"] <= 4 << 20
    assert "rates" in read("run.html").sections
