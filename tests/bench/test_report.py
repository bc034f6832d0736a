"""What a report says: targets met, missed and not measured; results that are saved, joined and written again."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bench import harness, plots, report
from bench.figures import Figure, Wanted

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"
FIGURES = [
    Figure("BFS streamed, 1 GPU", "rmat-24, undirected", 12.0, "ms", note="of 16 runs").aim(45.0, "45 ms"),
    Figure("BFS streamed, bytes moved, 1 GPU", "rmat-24, undirected", 2.0, "times the topology").aim(1.2, "few bytes"),
    Figure("components streamed without heads, 1 GPU", "rmat-26, undirected", 160.0, "ms"),
]
RESULT = {
    "command": "python bench/gpu.py",
    "seconds": 1.0,
    "graphs": "rmat-S: 2^S vertices",
    "machine": {
        "date": "2026-01-01", "commit": "0123456789abcdef", "uncommitted_changes": False, "cpu": "one", "cores": 2,
        "memory_gib": 4, "system": "Linux", "python": "3.11", "versions": {}, "load_average_before": 0.0,
    },
    "failures": [],
}  # fmt: skip


@pytest.mark.parametrize("result", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_results_name_files_and_tests_that_are_there(result: Path) -> None:
    named = re.findall(r"(?:gstream|pagestore|tests|bench|cuda)/[\w/]+\.(?:py|cuh?)(?:::\w+)*", result.read_text())
    for path, *names in (name.split("::") for name in named):
        text = (RESULTS.parents[1] / path).read_text()
        assert all(re.search(rf"\b(?:def|class) {name}\b", text) for name in names), (path, names)


def test_a_wanted_figure_is_found_by_name_graph_and_target() -> None:
    assert Wanted("BFS streamed", "rmat-24, undirected", "45 ms").is_among(FIGURES)
    assert Wanted("BFS streamed, bytes moved").is_among(FIGURES)
    assert not Wanted("BFS streamed", "rmat-24, undirected", "10 ms").is_among(FIGURES)
    assert not Wanted("BFS streamed", "rmat-28, undirected").is_among(FIGURES)
    assert not Wanted("components streamed").is_among(FIGURES)  # "without heads" is another measurement
    assert not Wanted("BFS").is_among([])


def test_targets_without_a_figure_stand_under_those_met() -> None:
    missing = [Wanted("merge of WA", "rmat-28, out", "70 % of the rate"), Wanted("Figure 11")]
    text = report.markdown("gpu", RESULT | {"missing": [asdict(wanted) for wanted in missing]}, FIGURES)
    counted, _, rest = text.partition("Targets met: 1 of 2 that were measured.\n\n")
    assert counted and rest.startswith("Asked for and **not measured** (2):\n\n")
    assert "- merge of WA (rmat-28, out): 70 % of the rate\n- Figure 11\n" in rest


def test_nothing_is_missing_where_nothing_is_wanted() -> None:
    assert "not measured" not in report.markdown("host", RESULT, FIGURES)


def test_results_are_joined_as_they_were_saved(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, figures in zip(paths, (FIGURES[:1], FIGURES[1:]), strict=True):
        harness.save(path, RESULT, figures)
    result, figures = harness.join(paths)
    assert figures == FIGURES
    assert (result["command"], result["seconds"]) == (RESULT["command"], 2.0)


def test_what_a_later_run_measured_again_replaces_the_first(tmp_path: Path) -> None:
    later = RESULT | {"command": "again", "machine": RESULT["machine"] | {"commit": "f" * 40}}
    changed = [replace(figure, value=2 * figure.value) for figure in FIGURES[1:]]
    paths = [tmp_path / name for name in ("a.json", "b.json", "both.json")]
    for path, result, figures in zip(paths[:2], (RESULT, later), (FIGURES, changed), strict=True):
        harness.save(path, result, figures)
    result, figures = harness.join(paths[:2])
    assert figures == [*FIGURES[:1], *changed]
    assert [(run["command"], run["commit"]) for run in result["runs"]] == [
        (RESULT["command"], RESULT["machine"]["commit"]), ("again", "f" * 40)
    ]  # fmt: skip
    harness.save(paths[2], result, figures)
    assert harness.join(paths[2:])[0]["runs"] == result["runs"]
    assert "- measured later, commit ffffffffffff, " in report.markdown("gpu", result, figures)


def test_a_stage_that_is_made_later_has_not_failed(tmp_path: Path) -> None:
    failed = RESULT | {"failures": [{"measurement": "bfs", "graph": "rmat-24", "error": "not done after 9 s"}]}
    harness.save(tmp_path / "a.json", failed, FIGURES)
    for stage, left in (("bfs --scale 24", 0), ("bfs --scale 26", 1), ("components --scale 24", 1)):
        command = f"python bench/gpu.py --only {stage} --devices cuda:0"
        harness.save(tmp_path / "b.json", RESULT | {"command": command}, FIGURES)
        assert len(harness.join([tmp_path / "a.json", tmp_path / "b.json"])[0]["failures"]) == left
    harness.save(tmp_path / "b.json", failed | {"command": "python bench/gpu.py --only bfs --scale 24"}, FIGURES)
    assert len(harness.join([tmp_path / "a.json", tmp_path / "b.json"])[0]["failures"]) == 2
    left_out = [{"measurement": "bfs", "graph": "rmat-24", "reason": "no GPU"}]
    command = "python bench/gpu.py --only bfs --scale 24 --devices cuda:0"
    harness.save(tmp_path / "b.json", RESULT | {"command": command, "skipped": left_out}, FIGURES)
    assert len(harness.join([tmp_path / "a.json", tmp_path / "b.json"])[0]["failures"]) == 1


def of_a_curve(series: str, unit: str, values: dict[float, float], busy: float = 0.0) -> list[Figure]:
    point = {"plot": "simd-5", "panel": "BFS, rmat-9", "series": series}
    return [
        Figure(f"{series}, S = {x}", "rmat-9", value, unit, point=point | {"x": x}, disturbance=busy)
        for x, value in values.items()
    ]


CURVES = of_a_curve("measured", "ms", {1: 3.0, 32: 1.5}, 0.5) + of_a_curve("ME by the model", "%", {1: 25.0, 8: 50.0})


def test_curves_are_a_table_of_their_own() -> None:
    text = report.markdown("simd", RESULT, [*FIGURES, *CURVES])
    assert "measured, S = 1" not in text and "BFS streamed, 1 GPU" in text
    table = text[text.index("## Figure 5: measured speed") :].splitlines()[4:8]
    assert table == [
        "| | | 1 | 8 | 32 |",
        "|---|---|---|---|---|",
        "| BFS, rmat-9, ms | measured | 3* |  | 1.5* |",
        "| BFS, rmat-9, % | ME by the model | 25.00 | 50.00 |  |",
    ]


def test_plots_have_an_axis_for_a_second_unit(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    more = [
        Figure("one", "g", 1.0, "ms", point={"plot": "simd-5", "panel": f"panel {n}", "series": "a", "x": 1})
        for n in range(5)
    ]
    assert plots.draw(tmp_path, "simd", CURVES + more) == [tmp_path / "simd-5.svg"]
    drawn = (tmp_path / "simd-5.svg").read_text()
    assert "ME by the model, %" in drawn and "panel 4" in drawn


def test_what_is_counted_is_never_busy(tmp_path: Path) -> None:
    figures = [Figure("timed", "g", 1.0, "ms"), Figure("counted", "g", 1.0, "%", counted=True)]
    part = tmp_path / "part.json"
    assert harness.record(part, harness.Task("m", "g"), RESULT, figures) == 0
    timed, counted = harness.load(part)[1]
    assert timed.disturbance is not None and counted.disturbance is None and counted.counted
