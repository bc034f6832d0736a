"""The example scripts of the clusters page, with an srun that starts MPICH's processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from rank_processes import MPIEXEC, environment

import gstream
from tests.cli.command import ROOT

EXAMPLES = ROOT / "docs" / "examples"
SRUN = f"""#!/bin/bash
if [ "$1" = --mpi=pmi2 ]; then shift; exec {MPIEXEC} -n 2 "$@"; fi
for rank in 0 1; do SLURM_PROCID=$rank "$@" || exit 1; done
"""


@pytest.mark.long
def test_each_node_of_a_slurm_job_runs_on_its_own_part(stores: Path, tmp_path: Path):
    gstream.split(stores / "directed.gs", tmp_path / "web.parts", 2, threads=1)
    for name, text in {"srun": SRUN, "gstream": f'#!/bin/bash\nexec {sys.executable} -m gstream "$@"\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "local").mkdir()
    given = {**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "local")}
    command = ["bash", EXAMPLES / "ranks.sbatch", "wcc", "web.parts", "answer", "--no-heads"]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "local/web.parts")) == ["manifest.json", "part-00000.gs", "part-00001.gs"]
    tables = [pyarrow.parquet.read_table(part) for part in sorted((tmp_path / "answer").iterdir())]
    with gstream.open(stores / "directed.gs", devices="host") as graph:
        assert pyarrow.concat_tables(tables).equals(graph.wcc(certify=False).to_arrow())


def test_the_kubernetes_job_starts_a_rank_a_part():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((EXAMPLES / "mpijob.yaml").read_text())["spec"]["mpiReplicaSpecs"]
    command = job["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert command[:4] == ["mpiexec", "-n", str(job["Worker"]["replicas"]), "gstream"]
