"""Counts of the differential tester as a JSON file: they add up over runs, each with its seed and commit."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine

SUMS = ("comparisons", "runs", "graphs", "refused", "failed")
TABLES = ("by_algorithm", "by_store", "by_run")


@dataclass
class Result:
    """A result file's contents."""

    whole: dict[str, Any]

    @classmethod
    def of(cls, counts: Any, part: dict[str, Any], facts: dict[str, Any]) -> Result:
        """Counts of one run, or of what it counted since the last time; part: its seed, graphs, commit and date."""
        sums = {name: getattr(counts, name) for name in SUMS}
        tables = {name: dict(getattr(counts, name)) for name in TABLES}
        own = {**part, "comparisons": counts.comparisons, "failed": counts.failed}
        return cls({"machine": facts, **sums, **tables, "parts": [own], "failures": list(counts.failures)})

    @classmethod
    def read(cls, path: Path) -> Result:
        """Of a file; of none an empty one."""
        if path.exists():
            return cls(json.loads(path.read_text()))
        empty: dict[str, Any] = dict.fromkeys(SUMS, 0) | {name: {} for name in TABLES}
        return cls({"machine": {}, **empty, "parts": [], "failures": []})

    @property
    def total(self) -> int:
        return int(self.whole["comparisons"])


def add_up(path: Path, fresh: Result) -> Result:
    """Add a result to the one in the file, and write that."""
    whole = Result.read(path).whole
    for name in SUMS:
        whole[name] += fresh.whole[name]
    for name in TABLES:
        both = Counter(whole[name]) + Counter(fresh.whole[name])
        whole[name] = dict(sorted(both.items()))
    for part in fresh.whole["parts"]:
        _add_part(whole["parts"], part)
    whole["failures"] += fresh.whole["failures"]
    whole["machine"] = fresh.whole["machine"] or whole["machine"]
    machine.write_json(path, whole)
    return Result(whole)


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Add a part to those of the result: to the one of the same run, if there is one."""
    for known in parts:
        if all(known[name] == part[name] for name in ("seed", "first", "commit", "date")):
            known["graphs"] = part["graphs"]
            known["comparisons"] += part["comparisons"]
            known["failed"] += part["failed"]
            return
    parts.append(part)
