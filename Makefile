# `make test` is everything, on a machine with Python >= 3.11 and nothing else. Each target makes what it needs.

SHELL := /bin/sh
.DEFAULT_GOAL := test
PYTHON := .venv/bin/python
AT_ONCE := auto
PYTEST := $(PYTHON) -m pytest
UV := $(PYTHON) -m uv
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	--no-emit-package afterturn --python-version 3.11

export PYTHONPATH := $(CURDIR):$(CURDIR)/client/src

.PHONY: test env lint types layers unit integration acceptance audit lock lower-bounds format clean

# Side by side where the machine has a core for each: what waits for a process leaves its time to what computes. Make 4
# keeps the outputs apart; the older one of macOS mixes them.
SIDE_BY_SIDE := $(MAKE) --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

test: env
	+@$(SIDE_BY_SIDE) --jobs=2 lint types layers unit
	@echo "integration and acceptance run side by side, for minutes; each is shown at its end"
	+@$(SIDE_BY_SIDE) --jobs=3 integration acceptance audit AT_ONCE=3

# A shell script compares the lock with what is installed: next to nothing when they agree.
env:
	@sh deploy/bootstrap/install.sh dev

lint: env
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types: env
	$(PYTHON) -m pyright

layers: env
	$(PYTHON) -c "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"

unit: env
	$(PYTEST) tests/unit --numprocesses auto

integration: env
	$(PYTEST) tests/integration --numprocesses $(AT_ONCE)

# These start whole installations, kill parts of them, and wait half of the time: two at a time, on any machine.
acceptance: env
	$(PYTEST) tests/acceptance --numprocesses 2

audit: env
	$(PYTHON) deploy/audit.py deploy/requirements.lock

format: env
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

lock: env
	$(COMPILE) pyproject.toml deploy/build.in --output-file deploy/requirements.lock
	$(COMPILE) pyproject.toml deploy/build.in --extra otel --constraint deploy/requirements.lock \
		--output-file deploy/requirements-otel.lock
	$(COMPILE) pyproject.toml deploy/build.in --group dev --constraint deploy/requirements.lock \
		--output-file deploy/requirements-dev.lock

# The oldest versions that we say we work with: resolved, installed apart, and put through the unit tests.
lower-bounds: env
	$(UV) venv --quiet --clear .venv-lowest
	$(UV) pip compile --quiet --resolution lowest-direct --no-header --no-annotate --no-emit-package afterturn \
		pyproject.toml client/pyproject.toml --group dev --output-file .venv-lowest/requirements.txt
	$(UV) pip install --quiet --python .venv-lowest -r .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pytest tests/unit

clean:
	rm -rf .venv .venv-lowest .venv.lock .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
