# gstream's commands for a checkout; each sets up what it needs in .venv, once. Only python3 (3.11 or newer) is assumed.
# bench-gpu and bench-several-gpus install nothing, as machines with GPUs often have no network: they take $(PYTHON) as it is.
#   make demo    compile what first runs need, convert the graph that ships with the project, run BFS and PageRank on it
#   make test    the CPU tests, in minutes: every test area, with fewer cases than
#   make test-all    all of them; make test-rest: what that has beyond make test
#   make test-networkx    a share of NetworkX's own suite through the backend, for a NetworkX that make test has not (.ci/run)
#   make lint, make types    ruff and mypy
#   make bench, make bench-gpu    benchmarks into bench/results/, on the host's cores and on GPUs (BENCH_ARGS: options)
#   make bench-papers    the experiments of the four papers, and a page of their claims beside ours (BENCH_ARGS: options)
#   make bench-cliffs    how every algorithm's time grows on long, flat and dense graphs, for hours (BENCH_ARGS: options)
#   make torture    break stores, disks, memory, processes, GPUs and inputs for 10 minutes, and count (TORTURE_ARGS: options)
#   make fuzz    feed the parsers and the store reader what a fuzzer makes of their inputs (FUZZ_ARGS: options)
#   make differential    hold all algorithms against references on random graphs (DIFFERENTIAL_ARGS: options)
#   make examples    try every property of the tests on 10,000 examples, for hours (EXAMPLES_ARGS: options)
#   make coverage    count the branches that tests take, and fail below 95 % of pagestore's, 90 % of gstream's
#   make stubs    write gstream/methods.pyi, which tells type checkers of Graph's methods, from the declarations
#   make docs    build the site into build/site, where a dead link fails; count docstrings
#   make clean   remove what these made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two workers: the suite is bound by the processor, and `make test` is meant for machines with 2 cores and up.
TEST_WORKERS ?= 2
DEMO := demo

.PHONY: demo test test-all test-rest test-networkx lint types docs stubs bench bench-gpu bench-several-gpus bench-papers bench-cliffs torture fuzz differential examples coverage clean install
.DEFAULT_GOAL := demo

install: $(VENV)/.installed

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is `$(PYTHON) -V 2>&1`; gstream needs Python 3.11 or newer. Pass PYTHON=/path/to/python3.11." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) -m venv failed; on Debian and Ubuntu: apt install python3-venv." >&2; rm -rf $(VENV); exit 1; }
	@touch $@

# One stamp an extra: nothing runs pip again until pyproject.toml changes.
$(VENV)/.installed: pyproject.toml | $(VENV)/.python
	@echo "installing gstream into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/.python
	@echo "installing gstream[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	@mkdir -p $(DEMO)
	$(BIN)/gstream warm
	$(BIN)/gstream convert gstream/data/debian.txt.gz $(DEMO)/debian.gs --string-ids --force
	$(BIN)/gstream run pagerank $(DEMO)/debian.gs
	$(BIN)/gstream run bfs $(DEMO)/debian.gs --source gnome

# tests/choice.py says which tests each runs.
test: TESTS := some
test-all: TESTS := all
test-rest: TESTS := rest
test test-all test-rest: $(VENV)/.installed-test
	GSTREAM_TESTS=$(TESTS) $(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist loadfile $(TEST_ARGS)

test-networkx: $(VENV)/.installed-test
	GSTREAM_TESTS=some $(BIN)/python -m pytest -q -n $(TEST_WORKERS) tests/interop/test_networkx.py tests/interop/test_networkx_suite.py

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-lint
	$(BIN)/mypy

stubs: $(VENV)/.installed
	$(BIN)/python docs/reference.py

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --quiet --strict --config-file docs/mkdocs.yml
	$(BIN)/interrogate --quiet gstream pagestore

bench: $(VENV)/.installed-bench
	$(BIN)/python bench/run.py $(BENCH_ARGS)

bench-gpu:
	@$(PYTHON) bench/gpu.py $(BENCH_ARGS)

bench-several-gpus:
	@PYTHON=$(PYTHON) bench/several_gpus.sh

bench-papers: $(VENV)/.installed-bench
	$(BIN)/python bench/papers.py $(BENCH_ARGS)

bench-cliffs: $(VENV)/.installed-bench
	$(BIN)/python bench/cliffs.py $(BENCH_ARGS)

fuzz: $(VENV)/.installed-fuzz
	$(BIN)/python tests/fuzz/run.py $(FUZZ_ARGS)

torture: $(VENV)/.installed-test
	$(BIN)/python tests/torture/run.py $(TORTURE_ARGS)

differential: $(VENV)/.installed-test
	$(BIN)/python tests/differential/run.py $(DIFFERENTIAL_ARGS)

examples: $(VENV)/.installed-test
	$(BIN)/python tests/torture/examples.py $(EXAMPLES_ARGS)

# Tests that send signals at any moment meet coverage's own locks.
coverage: $(VENV)/.installed-test $(VENV)/.installed-coverage
	$(BIN)/coverage erase
	GSTREAM_TESTS=all $(BIN)/coverage run -m pytest -q -n $(TEST_WORKERS) --dist loadfile --ignore tests/bench \
	  --deselect tests/format/test_open.py::test_a_signal_is_no_damage $(TEST_ARGS)
	$(BIN)/coverage combine -q
	@$(BIN)/coverage report --precision=1 --include='gstream/*' --fail-under=90; gstream=$$?; \
	  $(BIN)/coverage report --precision=1 --include='pagestore/*' --fail-under=95 && exit $$gstream

clean:
	rm -rf $(VENV) $(DEMO) build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache bench/scratch .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
