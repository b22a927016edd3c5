# make demo         compile, run, check and explain a program that JAX exported
# make test         all checks but pyright; of the longest lists of cases a part
# make test-rest    pyright, and the cases of these lists that `make test` leaves out; CI runs both
# make test-all     both, with every case where CI too runs a sample: under an hour
# make test-quick   before each commit: the source checks except pyright, the IR tests and the quick unit tests
# make lint         only the source checks; `make format` fixes what it can
# make conformance  only the programs of ../shared/conformance: on the reference, on the CPU and as text
# make torch-test   the backend for PyTorch: operations, training of small models, export; a large download
# make aot-test     programs compiled ahead of time: the conformance programs in C, 60 on each emulated machine there is
# make gpu-test     the conformance programs, the examples and the exchange of arrays on a GPU; skipped without one
# make gpu-sanitize the same with each access to memory checked, by compute-sanitizer of the CUDA toolkit
# make tensorflow-test  xhlo.tensorflow beside TensorFlow, which it installs (0.3 GB)
# make test-oldest  the quick tests with the oldest xDSL that pyproject.toml admits; asks the package registry
# make wheels       check that every platform finds wheels of the core's packages; asks the package registry
# make bench        xhlo beside other systems, into benchmarks/PEERS.md: half an hour; `BENCH=--quick` looks in minutes
# make docs         generate docs/ops.md, the table of all operations, and the site in build/site/html
# make clean        remove everything that the other targets created, including .venv
#
# Each target sets up .venv as far as it needs it. PYTHON=python3.12 chooses the interpreter.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test test-rest test-all test-quick conformance torch-test tensorflow-test aot-test test-oldest wheels gpu-test gpu-sanitize lint format bench docs clean

demo: .venv/.for-use
	@$(BIN)/python examples/demo.py

test: .venv/.for-tests
	@$(BIN)/python test/run_checks.py

test-rest: .venv/.for-tests
	@$(BIN)/python test/run_checks.py rest

test-all: .venv/.for-tests
	@$(BIN)/python test/run_checks.py all

test-quick: .venv/.for-tests
	@$(BIN)/python test/run_checks.py quick

conformance: .venv/.for-tests
	@$(BIN)/pytest -q -n 2 --all-cases test/unit/hlo_dialect/reference/test_conformance_reference.py \
		test/unit/programs/test_conformance_cpu.py test/unit/hlo_dialect/text/test_conformance_text.py

OLDEST_XDSL := 0.73.0

test-oldest: .venv/.for-tests
	@$(PIP) --no-deps --target build/xdsl-$(OLDEST_XDSL) 'xdsl==$(OLDEST_XDSL)'
	@PYTHONPATH=build/xdsl-$(OLDEST_XDSL) $(BIN)/python test/run_checks.py lit units

wheels: .venv/.made
	@$(BIN)/python test/check_wheels.py

tensorflow-test: .venv/.for-tests
	@$(PIP) --editable '.[tensorflow]'
	@$(BIN)/pytest -q -n 0 test/tensorflow

torch-test: .venv/.for-torch
	@$(BIN)/pytest -q -n 2 --all-cases test/torch

AOT_MACHINES := aarch64 aarch64+sve armv7 riscv64 riscv64+v s390x wasm32 wasm64

aot-test: .venv/.for-tests
	@$(BIN)/pytest -q -n 2 --all-cases test/unit/targets/ahead
	@$(BIN)/python test/unit/support/ahead_conformance.py
	@for machine in $(AOT_MACHINES); do $(BIN)/python test/unit/support/ahead_conformance.py --machine=$$machine || exit 1; done
	@$(BIN)/python test/unit/support/ahead_conformance.py --sanitize
	@$(BIN)/python test/unit/support/ahead_conformance.py --warnings

gpu-test: .venv/.for-gpu
	@$(BIN)/pytest -q -n 0 test/gpu

gpu-sanitize: .venv/.for-gpu
	compute-sanitizer --tool memcheck --error-exitcode 1 $(BIN)/python -m pytest -q -n 0 test/gpu

lint: .venv/.for-tests
	@$(BIN)/python test/run_checks.py ruff format imports pyright

format: .venv/.for-tests
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

BENCH := --write

bench: .venv/.for-bench
	@$(BIN)/python benchmarks/bench.py $(BENCH)

docs: .venv/.for-docs
	@$(BIN)/python -m xhlo.tools.list_ops > docs/ops.md.new && mv docs/ops.md.new docs/ops.md
	@$(BIN)/python -m xhlo.tools.list_names
	@$(BIN)/python docs/scripts/build_site.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file build/site/mkdocs.yml
	@echo "open build/site/html/index.html"

clean:
	rm -rf .venv build dist xhlo.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks

.venv/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.for-use: pyproject.toml | .venv/.made
	@echo "installing xhlo into .venv .."
	@$(PIP) --editable .
	@touch $@

.venv/.for-tests: pyproject.toml | .venv/.made
	@echo "installing xhlo and its test tools into .venv .."
	@$(PIP) --editable '.[test]'
	@touch $@ .venv/.for-use

.venv/.for-torch: .venv/.for-tests
	@$(PIP) --editable '.[torch-test]'
	@touch $@

.venv/.for-gpu: .venv/.for-tests
	@$(PIP) --editable '.[gpu]'

.venv/.for-bench: .venv/.for-tests
	@echo "installing the systems that xhlo is compared with into .venv .."
	@$(PIP) --editable '.[bench]'
	@touch $@

.venv/.for-docs: pyproject.toml | .venv/.made
	@echo "installing xhlo and what builds its site into .venv .."
	@$(PIP) --editable '.[docs]'
	@touch $@
