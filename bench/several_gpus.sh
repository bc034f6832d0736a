#!/usr/bin/env bash
# make bench-several-gpus: tests on all GPUs of this machine (two at least), among them one that is lost out of N in the
# middle of a run; ranks under mpiexec against one process; then rates of one GPU and of all together.
#   SCALES="26"    scales of the RMAT graphs     OUT=FOLDER      where logs and results go
#   RANK_SCALE=24  the same, for ranks           PYTHON=python3  with what gstream, pycuda and pytest need
#   LIMIT=570      seconds for all of it
set -uo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3} OUT=${OUT:-bench/scratch/several-gpus} SCALES=${SCALES:-26} LIMIT=${LIMIT:-570}
STORES=${STORES:-$OUT/stores}
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} GSTREAM_TESTS=all
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in containers
mkdir -p "$OUT" "$STORES"
BEGAN=$(date +%s)
left() { echo $((LIMIT - $(date +%s) + BEGAN)); }
said() { echo "== $1: at $(($(date +%s) - BEGAN)) s"; }

COUNT=$($PYTHON -c 'from gstream.devices.gpu.driver import driver; print(driver().Device.count())') || exit 1
if [ "$COUNT" -lt 2 ]; then
  echo "several_gpus.sh: this machine has $COUNT GPUs and the script needs two. Run make bench-gpu for one." >&2
  exit 2
fi
ALL=cuda:$(seq -s, 0 $((COUNT - 1)))
said "$COUNT GPUs"
WORKERS=$($PYTHON -c 'import importlib.util, os; x = importlib.util.find_spec("xdist"); print(f"-n {min(16, os.cpu_count())}" if x else "")')
# shellcheck disable=SC2086
timeout -s INT "$(left)" $PYTHON -m pytest -q --tb=short -rfE $WORKERS -p no:cacheprovider tests/gpu > "$OUT/tests.log" 2>&1
TESTS=$?
tail -n 15 "$OUT/tests.log"
said "tests"
timeout -s INT "$(left)" $PYTHON bench/ranks.py --gpus "$COUNT" --scale "${RANK_SCALE:-24}" > "$OUT/ranks.log" 2>&1 ||
  echo "ranks did not end well: $OUT/ranks.log"
grep '^    ' "$OUT/ranks.log" | cut -c5-190
said "ranks, scale ${RANK_SCALE:-24}"
for scale in $SCALES; do
  for stage in link pagerank-streamed pagerank-incore bfs components; do
    [ "$(left)" -gt 20 ] || { echo "no time for $stage at scale $scale"; continue; }
    timeout -s INT "$(left)" $PYTHON bench/gpu.py --only $stage --scale "$scale" --devices "$ALL" \
      --out "$OUT/$stage-$scale" --stores "$STORES" --sources 8 > "$OUT/$stage-$scale.log" 2>&1 ||
      echo "$stage at scale $scale did not end well: $OUT/$stage-$scale.log"
    grep '^    ' "$OUT/$stage-$scale.log" | cut -c5-230
    said "$stage, scale $scale"
  done
done
exit $TESTS
