"""compute-sanitizer over tests: what its processes say is counted, whoever reports, fails or does not end."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.torture import sanitize

TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(5))
def test_some(number):
    assert os.environ["GSTREAM_SMALL"] == "1"
"""
# What the tool does as far as its caller can tell: runs the command, and writes its summary to the log.
TOOL = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
[ "$1" = --leak-check ] && shift 2
"$@"; code=$?
echo "========= ERROR SUMMARY: REPORTS errors" > "$log"
exit $code
"""


def sanitized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, tests: str = TESTS, *more: str
) -> tuple[int, dict]:
    program = tmp_path / "compute-sanitizer"
    program.write_text(tool)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "test_of_sanitizer.py").write_text(tests)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(sanitize, "SAID", tmp_path / "said")
    monkeypatch.setattr(sanitize.machine, "ROOT", tmp_path)
    out = tmp_path / "out" / "sanitizer.json"
    given = ["--tools", "memcheck", "synccheck", "--tests", ".", "--out", str(out), "--limit", "60"]
    given += ["--part", "2", *more]
    return sanitize.main(given), json.loads(out.read_text())


@pytest.mark.long
def test_nothing_is_reported(tmp_path, monkeypatch):
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "0"))
    assert code == 0 and list(found) == ["memcheck", "synccheck"]
    for counts in found.values():
        assert (counts["passed"], counts["failed"], counts["reports"], counts["missing"]) == (5, 0, 0, [])


@pytest.mark.long
def test_reports_count(tmp_path, monkeypatch):
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "3"))
    assert code == 1 and found["memcheck"]["reports"] == 9  # of three processes


@pytest.mark.long
def test_a_tool_that_says_nothing(tmp_path, monkeypatch):
    code, found = sanitized(tmp_path, monkeypatch, "#!/bin/sh\nexit 1\n")
    assert code == 1 and len(found["synccheck"]["missing"]) == 5 and found["synccheck"]["passed"] == 0


@pytest.mark.long
def test_what_is_missing_comes_later(tmp_path, monkeypatch):
    """Tests whose process was stopped are run by the next one; those that ended are not."""
    slow = TESTS.replace(
        "assert os", "assert number < 4 or not os.path.exists('slow') or os.kill(os.getpid(), 9)\n    assert os"
    )
    (tmp_path / "slow").touch()
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "0"), slow)
    assert code == 1 and found["memcheck"]["passed"] == 4
    assert found["memcheck"]["missing"] == ["test_of_sanitizer.py::test_some[4]"]
    (tmp_path / "slow").unlink()
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "0"), slow, "--missing")
    assert code == 0 and (found["memcheck"]["passed"], found["memcheck"]["missing"]) == (5, [])
    assert [part["passed"] for part in found["memcheck"]["parts"]] == [4, 1]


@pytest.mark.long
def test_failures_count(tmp_path, monkeypatch):
    failing = TESTS.replace("assert os", "assert number != 3 and os")
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "0"), failing)
    assert code == 1 and (found["memcheck"]["passed"], found["memcheck"]["failed"]) == (4, 1)
    assert found["memcheck"]["missing"] == ["test_of_sanitizer.py::test_some[3]"]
    code, found = sanitized(tmp_path, monkeypatch, TOOL.replace("REPORTS", "0"), TESTS, "--missing")
    assert code == 0 and (found["memcheck"]["passed"], found["memcheck"]["failed"]) == (5, 0)


def test_memcheck_sees_one_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert [sanitize.environment("memcheck", k)["CUDA_VISIBLE_DEVICES"] for k in range(3)] == ["2", "3", "2"]
    assert [sanitize.environment("racecheck", k)["CUDA_VISIBLE_DEVICES"] for k in range(3)] == ["2,3", "3,2", "2,3"]


def test_no_tests(tmp_path, monkeypatch):
    monkeypatch.setattr(sanitize, "SAID", tmp_path / "said")
    with pytest.raises(SystemExit, match="finds no tests there"):
        sanitize.main(["--tests", str(tmp_path), "--out", str(tmp_path / "o.json")])
