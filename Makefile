# Two commands do all the set-up: `make demo` shows jitwatch at work, `make test` checks everything.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The Triton that torch 2.13.0's own CUDA build requires.
TORCH := torch==2.13.0
TRITON := triton==3.7.1
# Releases of Triton that the suite runs against; the first and the last beside the pinned one in CI.
MATRIX ?= 3.2.0 3.4.0 3.6.0 3.7.1 3.8.0 3.9.0
CI_MATRIX := 3.2.0 3.9.0
PYTEST_FLAGS ?= -n 2
OFFLINE := $(shell nvidia-smi -L >/dev/null 2>&1 || echo --offline)

.PHONY: demo test check unit test-matrix test-matrix-ci bench clean

demo: $(VENV)/installed
	# An empty kernel cache: what the first requests of a fresh deployment meet.
	TRITON_CACHE_DIR=$$(mktemp -d) $(BIN)/jitwatch profile $(OFFLINE) $(BIN)/python examples/serve.py --demo

test: $(VENV)/installed check unit test-matrix-ci

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/installed
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

# Own virtual environment for each release: it holds that Triton alone, and sees the rest through the main one.
test-matrix: $(MATRIX:%=.venv-triton-%/tested)
test-matrix-ci: $(CI_MATRIX:%=.venv-triton-%/tested)

.venv-triton-%/tested: $(VENV)/installed FORCE
	$(BIN)/python tests/matrix.py $*

FORCE:

bench: $(VENV)/installed
	$(BIN)/python tests/benchmarks/bench_recorder.py

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(TORCH) $(TRITON)
	$(BIN)/python -m pip install --quiet --editable '.[gpu,examples,watch,lsp,test,dev]'
	touch $@

clean:
	rm -rf .venv .venv-triton-* build dist .mypy_cache .pytest_cache .ruff_cache
