SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Fixed so that a test run is the same on every machine, whatever its shell exports.
export PYTHONHASHSEED := 0

.PHONY: env report test lint bench docs lock clean

# Builds the environment from nothing; does nothing while the lock and the project file are unchanged.
env: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q shellbench_lib
	touch $(STAMP)

# The built-in sample matrix into outputs/sample/.
report: env
	$(BIN)/shellbench report params/sample.yaml

# Every check that CI runs.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: env
	$(BIN)/ruff format --check shellbench_lib tests tools docs bench
	$(BIN)/ruff check shellbench_lib tests tools docs bench
	$(BIN)/mypy
	$(BIN)/python tools/check_tree.py

# Speed and size as ratios of one run, then the coverage of intervals and tests by simulation.
bench: env
	$(BIN)/python bench/run.py
	$(BIN)/python bench/coverage.py

# Rewrites the generated tables under docs/.
docs: env
	$(BIN)/python docs/generate.py

# Pins the environment anew (needs uv).
lock:
	UV_PYTHON_DOWNLOADS=never uv pip compile pyproject.toml --extra upload --extra dev --universal --generate-hashes \
		--python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
