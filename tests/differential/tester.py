"""The differential tester: graphs, stores, runs and algorithms from a seed, answers against the references.

`Tester.try_graph(number)` does all that a number stands for: some stores of one graph, some runs of each, all cases in
every run. A comparison is one column of the answer of one run. Failures are made small before they are told.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import cases
import compared
import judge
import nasty
import numpy as np
import runs
import shrink
import stores
from cases import Case
from nasty import Graph
from runs import Run, Runner
from stores import StoreOptions

from gstream.algorithms.registry import ALGORITHMS
from pagestore.errors import GstreamError

SAME_ALWAYS = {"mis": "in_set", "coloring": "color", "bfs": "predecessor", "sssp": "predecessor"}
CHECKPOINTED = 0.05  # of the calls that can be kept
Judge = Callable[[Graph, str, dict[str, Any], compared.Answer], judge.Told]


@dataclass
class Trial:
    """One call on one store, with all that makes it again."""

    graph: Graph
    store: StoreOptions
    run: Run
    case: Case

    def as_json(self) -> str:
        """What `of_json` makes the trial from."""
        case = {"name": self.case.name, "own": self.case.own, "certify": self.case.certify}
        return json.dumps(
            {"graph": self.graph.raw, "store": self.store.as_dict, "run": self.run.as_dict, "case": case},
            separators=(",", ":"),
        )


def of_json(text: str) -> Trial:
    """A trial from its JSON."""
    said = json.loads(text)
    return Trial(nasty.given(said["graph"]), StoreOptions(**said["store"]), Run(**said["run"]), Case(**said["case"]))


@dataclass
class Counts:
    """Comparisons by algorithm and by kind of store and run; runs that were refused, as they had to be; failures."""

    graphs: int = 0
    runs: int = 0
    comparisons: int = 0
    refused: int = 0
    raised_caps: int = 0
    failed: int = 0
    by_algorithm: Counter[str] = field(default_factory=Counter)
    by_store: Counter[str] = field(default_factory=Counter)
    by_run: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, name: str, store: list[str], run: list[str], columns: int) -> None:
        """Count a run with so many columns."""
        self.runs += 1
        self.comparisons += columns
        self.by_algorithm[name] += columns
        self.by_store.update(dict.fromkeys(store, columns))
        self.by_run.update(dict.fromkeys(run, columns))


class Tester:
    """folder: for stores. judged: what compares answers (tests put a wrong one in its place). devices: those of all
    runs; none: host and fake ones. names: of the algorithms that are tried; none: all. strict: as Runner's."""

    __test__ = False  # is no test of pytest's

    def __init__(
        self, seed: int, folder: Path, devices: tuple[str, ...] = (), names: tuple[str, ...] = (),
        judged: Judge = judge.judge, strict: bool = True,
    ) -> None:  # fmt: skip
        self.seed, self.folder, self.devices, self.names, self.judged = seed, folder, devices, names, judged
        self.strict = strict
        self.counts, self._alike = Counts(), Counter[str]()

    def begin_counts(self) -> None:
        """Count from 0."""
        self.counts = Counts()

    def try_graph(self, number: int, most_stores: int = 4, most_runs: int = 4) -> None:
        """Everything that the number stands for."""
        random = Random(f"{self.seed}:{number}")
        graph = nasty.draw(random)
        asked = cases.draw_all(random, graph, self.names)
        self.counts.graphs += 1
        for _ in range(random.randint(1, most_stores)):
            self._try_store(random, graph, asked, stores.draw(random, graph), most_runs, number)

    def _try_store(
        self, random: Random, graph: Graph, asked: list[Case], store: StoreOptions, most_runs: int, number: int
    ) -> None:  # fmt: skip
        folder = self.folder / "stores"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with Runner(folder / "graph.gs", stores.write(graph, store, folder / "graph.gs"), self.strict) as runner:
                meta = runner.graph.info
                kinds = self._kinds(graph, store, meta)
                same: dict[str, np.ndarray] = {}
                for _ in range(random.randint(1, most_runs)):
                    usual = runs.draw(random, store.page_bytes, self.devices)
                    for case in asked:
                        run = usual
                        if ALGORITHMS[case.name].kept and random.random() < CHECKPOINTED:
                            run = runs.stopped(random, usual, store.page_bytes, self.devices)
                        trial = Trial(graph, store, run, case)
                        before = run.copy()  # caps are raised in the run
                        problem = self._try(trial, runner, kinds, same)
                        if problem:
                            self._fail(replace(trial, run=before), problem, number)
                self.counts.raised_caps += runner.raised
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _kinds(graph: Graph, store: StoreOptions, meta: dict[str, Any]) -> list[str]:
        return [
            "directed" if graph.directed else "undirected", f"order {store.order}", f"topology {store.topology}",
            f"page {store.page_bytes}", f"ID bytes {meta['id_bytes']}", f"IDs {store.naming}",
            f"columns {store.columns}", f"weights {meta['weight_dtype']}",
            *(["isolated vertices"] if graph.isolated else []), *(["large pages"] if graph.has_hub else []),
        ]  # fmt: skip

    def _try(self, trial: Trial, runner: Runner, kinds: list[str], same: dict[str, np.ndarray]) -> str:
        """What is wrong with the trial's answer; "" if it is right, or refused as it had to be. Counts it."""
        told, problem = self.outcome(trial, runner)
        if told is None:
            self.counts.refused += not problem
            return problem
        more = ["certified"] if trial.case.certify else []
        self.counts.add(trial.case.name, kinds, trial.run.kinds() + more, len(told.columns))
        return problem or self._changed(trial.case, told, same)

    def outcome(self, trial: Trial, runner: Runner) -> tuple[compared.Answer | None, str]:
        """(the answer, None where there is none; what is wrong)."""
        graph, case = trial.graph, trial.case
        wanted = cases.refusal(graph, trial.store.topology, case)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ResourceWarning)
                result = runner.call(case, trial.run)
                answer = compared.answer_of(result, runner.names)
        except GstreamError as error:
            if (wanted and wanted in str(error)) or runs.is_refused(error, trial.run) or self._diverges(graph, case):
                return None, ""
            return None, f"{type(error).__name__}: {error}" + (f" (expected: ... {wanted} ...)" if wanted else "")
        except runs.CapNotEnough as error:
            return None, f"cap: {error}"
        except Exception:
            return None, traceback.format_exc(limit=-6)
        if wanted:
            return answer, f"gives an answer instead of an error that {wanted!r} is in"
        with np.errstate(all="ignore"):
            told = self.judged(graph, case.name, case.own, answer)
        return answer, "; ".join(f"{column}: {what}" for column, what in told.items() if what)

    @staticmethod
    def _diverges(graph: Graph, case: Case) -> bool:
        """Whether Katz' sums grow past all numbers."""
        if case.name != "katz":
            return False
        walk = judge.ranks.katz(graph, case.own.get("alpha", 0.1), case.own.get("beta", 1.0))
        return not np.abs(walk.after(case.own.get("max_iter", 1000))).sum() < 1e290

    @staticmethod
    def _changed(case: Case, answer: compared.Answer, same: dict[str, np.ndarray]) -> str:
        """Whether what must not depend on the run does."""
        column = SAME_ALWAYS.get(case.name, "")
        if column not in answer.columns:
            return ""
        first = same.setdefault(json.dumps([case.name, case.own]), answer.columns[column])
        return "" if np.array_equal(first, answer.columns[column]) else f"{column}: another than in the run before"

    def _fail(self, trial: Trial, problem: str, number: int) -> None:
        """Make the trial small and tell it; of failures that look alike the first."""
        self.counts.failed += 1
        alike = f"{trial.case.name} {re.sub('[0-9.e+-]+', '#', problem[-300:])}"
        self._alike[alike] += 1
        if self._alike[alike] > 1:
            return
        smaller, says = shrink.shrink(trial, self.problem)
        name = f"{self.seed}-{number}-{len(self.counts.failures)}.json"
        kept = self.folder / "failures" / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(smaller.as_json() + "\n")
        kept.with_suffix(".whole").write_text(trial.as_json() + "\n")
        text = report(smaller, says or f"{problem} (in a series of runs only)", kept)
        self.counts.failures.append(f"--seed {self.seed} --graph {number}\n{text}")
        print(self.counts.failures[-1], file=sys.stderr, flush=True)

    def problem(self, trial: Trial) -> str:
        """What is wrong with one trial on a store of its own; "" if nothing is."""
        folder = self.folder / "small"
        folder.mkdir(parents=True, exist_ok=True)
        fresh = of_json(trial.as_json())
        try:
            with Runner(folder / "graph.gs", stores.write(fresh.graph, fresh.store, folder / "graph.gs")) as runner:
                return self.outcome(fresh, runner)[1]
        except Exception:
            return traceback.format_exc(limit=-6)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def report(trial: Trial, problem: str, path: Path) -> str:
    """A failure for people: the graph as an edge list, the call in Python, and what gives it again."""
    graph, names = trial.graph, stores.names_of(trial.graph, trial.store.naming)
    columns = [names[graph.source].tolist(), names[graph.target].tolist()]
    if graph.weight is not None:
        columns.append(graph.weight.tolist())
    rows = ["\t".join(map(str, row)) for row in zip(*columns, strict=True)]
    options = {name: value for name, value in trial.run.options.items() if value is not None}
    asked = ", ".join(f"{key}={value!r}" for key, value in {**trial.case.asked(names), **options}.items())
    certify = ", certify=True" if trial.case.certify else ""
    what = "directed" if graph.directed else "undirected"
    edges = "\n".join(rows[:60]) + (f"\n... ({len(rows)} edges)" if len(rows) > 60 else "")
    return (
        f"{problem}\n{what} graph of {graph.vertices} vertices ({graph.shape}), {trial.store}, edges:\n{edges}\n"
        f"gstream.open(store).{trial.case.name}({asked}{certify})\nknobs {trial.run.knobs}, stop {trial.run.stop}\n"
        f"again: python tests/differential/run.py --again {path}"
    )
