"""`gstream show`: the generated code on the terminal."""

from __future__ import annotations

import pytest

from gstream.algorithms.registry import ALGORITHMS
from gstream.cli.commands import run_command_line

MINE = """from gstream.program import *

class Twice(Program):
    combine, value = MAX, u32
    factor: int = 2
    def start(self, v, g): return v.id
    def send(self, u, e, g): return u.value * self.factor
"""


def shown(capsys, *arguments):
    capsys.readouterr()
    code = run_command_line(["show", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("algorithm", [name for name, entry in ALGORITHMS.items() if entry.shows])
def test_every_algorithm(capsys, algorithm):
    for option, words in (("--host", ("def send(", "def pull_kernel(")), ("--cuda", ("u32 send(", "pull_kernel("))):
        code, out, _ = shown(capsys, algorithm, option)
        assert code == 0 and words[1] in out and words[0].split()[-1] in out
    assert shown(capsys, algorithm)[1] == shown(capsys, algorithm, "--host")[1]


@pytest.mark.parametrize("algorithm", [name for name, entry in ALGORITHMS.items() if not entry.shows])
def test_page_kernels_are_no_programs(capsys, algorithm):
    code, out, err = shown(capsys, algorithm)
    assert code == 2 and out == "" and f"{algorithm}: runs no program whose code could be shown" in err


def test_components_show_their_page_kernels(capsys):
    assert "link_pages_kernel(" in shown(capsys, "wcc", "--cuda")[1]


def test_own_program(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    code, out, _ = shown(capsys, f"{tmp_path}/mine.py:Twice", "--cuda", "--id-bytes", "8")
    assert code == 0 and "typedef u64 Word;" in out and "wrap_mul(i64(u_value), ctx.p_factor)" in out
    code, out, _ = shown(capsys, "sssp", "--cuda", "--weights", "u1")
    assert "typedef u8 Weight;" in out


def test_what_it_refuses(capsys):
    assert shown(capsys, "bfs", "--id-bytes", "5")[0] == 2
    code, _, error = shown(capsys, "sssp", "--weights", "f8")
    assert code == 2 and error.startswith("--weights f8: stores have weights of u1, i4, u4, f4.")
    code, _, error = shown(capsys, "degrees")
    assert code == 2 and error.startswith("degrees: runs no program whose code could be shown.")
    code, _, error = shown(capsys, "nonsense")
    assert code == 2 and "no such algorithm" in error
