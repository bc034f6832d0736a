"""How strong the tests are: small faults put into pages, packer, planner and certificates, and whether a test fails.

    python tests/torture/mutants.py                      30 faults a file, drawn from the seed
    python tests/torture/mutants.py --each 100 --only pack.py planning.py --seed 2
    python tests/torture/mutants.py --again              those that no test noticed the last time

Each fault is one node of a file's syntax tree: a comparison, an operation, a constant, a condition, a statement left
out. A process of its own imports the file with the fault and runs the tests of that file, which should fail, or take
too long. Compiled code is compiled anew with its fault, from a copy in a temporary folder. Results, with the faults
that no test noticed, go to bench/results/mutants.json; reasons that were written there by hand stay.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "bench" / "results" / "mutants.json"
LOADED = ("numpy", "numba", "h5py", "pyarrow", "pandas", "scipy.sparse", "networkx", "hypothesis", "pytest")  # but once
ENOUGH = 0.85  # of the faults are to be noticed
UNCHANGED = "no fault"
LONGEST_S = 600.0  # of a fault's tests: then it hangs, which is noticed
PAGES = ("format/test_planning.py", "format/test_decode.py", "format/test_roundtrip.py", "format/test_columns.py",
         "format/test_reader.py", "format/test_writer.py")  # fmt: skip
PLANS = (
    "engine/test_plans.py", "engine/test_plan_limits.py", "engine/test_gpu_costs.py", "engine/test_parts.py",
    "engine/test_memory.py",
)  # fmt: skip
SCRUB = ("format/test_verify.py", "format/test_columns.py")
PROOFS = ("answers/test_certificates.py",)
TESTS: dict[str, tuple[str, ...]] = {
    "pagestore/layout.py": PAGES,
    "pagestore/decode.py": PAGES,
    "pagestore/check.py": (*SCRUB, "format/test_bounds.py"),
    "pagestore/verify.py": SCRUB,
    "pagestore/verify_pages.py": SCRUB,
    "pagestore/pack.py": PAGES,
    "pagestore/planning.py": PAGES,
    "pagestore/reader.py": ("format/test_reader.py",),
    "gstream/planning/plan.py": PLANS,
    "gstream/planning/planner.py": PLANS,
    "gstream/planning/memory_fit.py": PLANS,
    "gstream/engine/demand.py": ("engine/test_demand.py",),
    "gstream/algorithms/traversal/distance_proofs.py": (*PROOFS, "answers/test_reach.py"),
    "gstream/algorithms/density/triangle_proofs.py": ("answers/test_counted_again.py",),
    "gstream/algorithms/centrality/simulations.py": ("answers/test_simulations.py", "answers/test_counted_again.py"),
    "gstream/algorithms/density/truss_proof.py": ("answers/test_refusals.py", "answers/test_ktruss.py"),
    "gstream/algorithms/centrality/residual_proofs.py": ("answers/test_refusals.py",),
    "gstream/algorithms/traversal/widest.py": ("answers/test_refusals.py", "answers/test_paths.py"),
}
COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}  # fmt: skip


class Fault(NamedTuple):
    """text: of the file with the fault; what: "line 12: a < b, now a <= b"."""

    what: str
    text: str


class Changer(ast.NodeTransformer):
    """Changes the node number `at` of those that can be changed, in the order of the text; counts them."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.count, self.what = at, 0, ""

    def visit(self, node: ast.AST) -> Any:
        """Go through what decides something: no annotations, messages, imports or decorators."""
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert | ast.arguments):
            return node
        if _can_change(node):
            self.count += 1
            if self.count - 1 == self.at:
                before, line = ast.unparse(node), node.lineno  # type: ignore[attr-defined]
                changed = ast.copy_location(_changed(node), node)
                after = ast.unparse(changed)
                self.what = f"line {line}: {before.splitlines()[0]}, now {after.splitlines()[0]}"
                return changed
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = [self.visit(each) for each in node.body]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = self.visit(node.value) if node.value is not None else None
            return node
        return self.generic_visit(node)


def faults_of(text: str) -> Iterator[Fault]:
    """Every fault of a file, in order."""
    counting = Changer()
    counting.visit(ast.parse(text))
    for number in range(counting.count):
        changer = Changer(number)
        changed = changer.visit(ast.parse(text))
        yield Fault(changer.what, ast.unparse(ast.fix_missing_locations(changed)))


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in COMPARED
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return type(node.op) in OPERATED
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
        return node.test.id != "TYPE_CHECKING"
    return isinstance(node, ast.If | ast.IfExp | ast.While | ast.BoolOp | ast.Raise)


def _changed(node: Any) -> ast.AST:
    if isinstance(node, ast.Compare):
        return ast.Compare(node.left, [COMPARED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp):
        return ast.BinOp(node.left, OPERATED[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign):
        return ast.AugAssign(node.target, OPERATED[type(node.op)](), node.value)
    if isinstance(node, ast.Constant):
        return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.Expr | ast.Raise):
        return ast.Pass()
    node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    return node


class Faulty(importlib.abc.MetaPathFinder):
    """Finds one module in another file."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_file_location(name, self.path) if name == self.name else None


class Job(NamedTuple):
    """A fault whose tests run. process: its number."""

    file: str
    fault: Fault
    folder: Path
    process: int
    began_s: float


def start(file: str, fault: Fault) -> Job:
    """Run the tests of `file` with a fault, in a process of its own that has the large libraries loaded."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    path = folder / Path(file).name
    path.write_text(fault.text)
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        _run_tests(file, path)
    return Job(file, fault, folder, process, time.monotonic())


def _run_tests(file: str, path: Path) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        sys.meta_path.insert(0, Faulty(file.removesuffix(".py").replace("/", "."), path))
        os.environ["GSTREAM_TESTS"] = "all"
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", "--basetemp", str(path.parent / "tests")]
        code = int(pytest.main([*options, *(f"tests/{name}" for name in TESTS[file])]))
    finally:
        os._exit(code)


def outcome_of(job: Job) -> bool | None:
    """Whether a test failed, or hangs; None while they run."""
    done, status = os.waitpid(job.process, os.WNOHANG)
    if not done and time.monotonic() - job.began_s < LONGEST_S:
        return None
    if not done:
        os.killpg(job.process, signal.SIGKILL)
        os.waitpid(job.process, 0)
    shutil.rmtree(job.folder, ignore_errors=True)
    return not done or os.waitstatus_to_exitcode(status) != 0


def try_faults(waiting: list[tuple[str, Fault]], jobs: int) -> Iterator[tuple[Job, bool]]:
    """Each fault with whether it was noticed, as they come."""
    running: list[Job] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(start(*waiting.pop()))
        for job in list(running):
            noticed = outcome_of(job)
            if noticed is not None:
                running.remove(job)
                yield job, noticed
        time.sleep(0.02)


def save_again(path: Path, tried: dict[str, dict[str, bool]]) -> None:
    """Survivors that are noticed now are so counted."""
    whole = json.loads(path.read_text())
    for file, outcomes in tried.items():
        for what in (what for what, noticed in outcomes.items() if noticed):
            del whole["files"][file]["survivors"][what]
            whole["files"][file]["noticed"] += 1
            whole["noticed"] += 1
    path.write_text(json.dumps(whole, indent=1) + "\n")


def save(path: Path, tried: dict[str, dict[str, bool]], seed: int, whole: dict[str, int]) -> None:
    """Write counts and survivors. Reasons, and files that were not tried, stay while the file exists; what is noticed
    now needs no reason."""
    from bench import machine

    known = json.loads(path.read_text())["files"] if path.exists() else {}
    known = {file: counts for file, counts in known.items() if (ROOT / file).exists()}
    for file, outcomes in tried.items():
        reasons = known.get(file, {}).get("survivors", {})
        survivors = {what: reasons.get(what, "") for what, noticed in outcomes.items() if not noticed}
        known[file] = {
            "faults": whole[file], "seed": seed, "tried": len(outcomes), "noticed": sum(outcomes.values()),
            "survivors": survivors,
        }  # fmt: skip
    counted = {"tried": sum(f["tried"] for f in known.values()), "noticed": sum(f["noticed"] for f in known.values())}
    path.write_text(json.dumps({"machine": machine.facts(), **counted, "files": known}, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try faults; exit code 1 where less than 85 % of them were noticed."""
    parser = argparse.ArgumentParser(description="Put faults into files and see whether their tests fail.")
    parser.add_argument("--each", type=int, default=30, help="faults of a file (30)")
    parser.add_argument("--seed", type=int, default=1, help="of which faults (1)")
    parser.add_argument("--only", nargs="+", default=sorted(TESTS), metavar="FILE", help="these files alone")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which no more are tried (3600)")
    parser.add_argument("--again", action="store_true", help="only those of the result that no test noticed")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    files = [file for file in TESTS if any(file.endswith(name) for name in options.only)]
    every = {file: list(faults_of((ROOT / file).read_text())) for file in files}
    waiting = [
        (file, fault)
        for file in files
        for fault in random.Random(f"{file} {options.seed}").sample(every[file], min(options.each, len(every[file])))
    ]
    if options.again:
        left = json.loads(options.out.read_text())["files"]
        files = [file for file in files if left.get(file, {}).get("survivors")]
        waiting = [(file, fault) for file in files for fault in every[file] if fault.what in left[file]["survivors"]]
    random.Random(options.seed).shuffle(waiting)
    unchanged = {TESTS[file]: (file, Fault(UNCHANGED, (ROOT / file).read_text())) for file in files}
    waiting += unchanged.values()  # at the end, which is tried first
    for library in LOADED:
        importlib.import_module(library)
    tried: dict[str, dict[str, bool]] = {}
    began = time.monotonic()
    for job, noticed in try_faults(waiting, options.jobs):
        if job.fault.what == UNCHANGED:
            assert not noticed, f"{job.file}: its tests fail without a fault"
            continue
        tried.setdefault(job.file, {})[job.fault.what] = noticed
        print(f"{job.file}: {'noticed' if noticed else 'SURVIVED'}: {job.fault.what}", flush=True)
        if time.monotonic() - began > options.seconds:
            waiting.clear()
    if options.again:
        save_again(options.out, tried)
    else:
        save(options.out, tried, options.seed, {file: len(all_of) for file, all_of in every.items()})
    outcomes = [noticed for file in tried.values() for noticed in file.values()]
    print(f"{sum(outcomes)} of {len(outcomes)} faults were noticed")
    return int(sum(outcomes) < ENOUGH * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
