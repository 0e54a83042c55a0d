# Needs: make and Python 3.11 or later with its venv module. Everything is installed into .venv, nowhere else.

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.setup-done
LOCK := requirements-dev.lock
# Some tests wait for processes, so a few more than there are processors.
WORKERS ?= 5
# The end-to-end tests mostly wait.
E2E_WORKERS ?= 4
ROUNDS ?= 10
INPUTS ?= 100000
FIRST ?= 1
QUICK ?=
WORLD ?= secret-in-argv
ARGS ?=
ENGINE ?= llamacpp

PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip --quiet --no-input --no-cache-dir

# The tests start hundreds of Pythons, each of which would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test thorough e2e chaos fuzz calibrate eval-llm live bench lint format docs docs-check replays check lock clean distclean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## create .venv and install the locked dependencies and specdoctor into it

# PYTHON=... names the interpreter; otherwise the first on PATH that is new enough and can make a venv is taken.
$(STAMP): pyproject.toml $(LOCK)
	@if ! $(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    found=; \
	    for candidate in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3); do \
	        if "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	            found=$$candidate; break; \
	        fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "setup: no Python 3.11 or later that can make a virtual environment" >&2; \
	        echo "  tried    $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3)" >&2; \
	        echo "  next     install one (Debian: apt-get install python3-venv)," >&2; \
	        echo "           or name one: make setup PYTHON=/path/to/python3" >&2; \
	        exit 1; \
	    fi; \
	    echo "setup: making $(VENV) with $$found"; \
	    "$$found" -m venv --clear $(VENV); \
	fi
	@echo "setup: installing the locked dependencies"
	@$(PIP) install --requirement $(LOCK)
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "setup: compiling, so that the processes of the first test run need not, each for itself"
	@$(PY) -m compileall -q -j 2 specdoctor; $(PY) -m pytest --collect-only -q tests >/dev/null 2>&1 || true
	@touch $@

demo: setup ## practise on a host that this command starts itself; no GPU needed (ARGS="..." is passed on)
	@$(VENV)/bin/specdoctor demo $(ARGS)

test: setup ## run the quick tests (ARGS="-k name" narrows, WORKERS=n for n processes)
	$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not alone and not slow and not thorough" \
	    --ignore=tests/replays --ignore=tests/e2e --ignore-glob='tests/chaos/*_seeds.py' $(ARGS)
	$(if $(ARGS),,$(PY) -m pytest -m alone $$(grep -rlF mark.alone tests --include=test_*.py))

thorough: setup ## the tests that start processes by the dozen, which the quick ones leave out
	$(PY) -m pytest -n $(WORKERS) --dist loadfile -m "thorough and not slow" $$(grep -rlF mark.thorough tests --include=test_*.py) $(ARGS)

e2e: setup ## the slow tests: the command line against practice hosts over real SSH (ARGS="-k name" narrows)
	$(PY) -m pytest -n $(E2E_WORKERS) --dist loadfile -m slow tests $(ARGS)

chaos: setup ## kill the controller and cut its link ROUNDS times in all phases, and kill it over worlds and planners (FIRST=n; WORLD=name)
	CHAOS_ROUNDS=$(ROUNDS) CHAOS_FIRST=$(FIRST) CHAOS_WORLD=$(WORLD) $(PY) -m pytest -n $(WORKERS) --dist load -rP tests/chaos $(ARGS)

fuzz: setup ## spoilt files for every reader and engine, INPUTS of each (the default suite tries 1000)
	FUZZ_INPUTS=$(INPUTS) $(PY) -m pytest -n 2 --dist load --hypothesis-profile=search --durations=10 tests/fuzz $(ARGS)

live: setup ## plant faults on a real engine and investigate each: ENGINE=llamacpp or vllm (ARGS="--only eagle3"); docs/live.md
	@OPENBLAS_NUM_THREADS=1 $(PY) -m tests.live $(ENGINE) $(ARGS)

bench: setup ## print the benchmark table; never fails (ARGS="ssh" for some sections, QUICK=1 for a rough one)
	@QUICK=$(QUICK) $(PY) -m benchmarks $(ARGS) || true

calibrate: setup ## search random worlds on a virtual clock: launches, regret, prediction errors (ARGS="--worlds 5")
	OPENBLAS_NUM_THREADS=1 $(PY) -m tests.calibration.calibrating $(ARGS)

eval-llm: setup ## worlds with a language model beside the rules: accuracy, tokens, restarts (ARGS="--worlds all --model NAME")
	@OPENBLAS_NUM_THREADS=1 $(PY) -m tests.evaluating $(ARGS)

lint: setup ## ruff, formatting, import contracts, mypy --strict
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy

format: setup ## rewrite the sources in the one format
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

docs: setup ## write the generated pages of docs/ from the code
	$(PY) -m specdoctor.cli.docs

docs-check: setup ## fail if a generated page differs from the code
	$(PY) -m specdoctor.cli.docs --check

replays: setup ## replay the recorded investigations through the real graph
	@if [ -d tests/replays ]; then \
	    $(PY) -m pytest -n $(WORKERS) --dist loadfile tests/replays; \
	else \
	    echo "replays: tests/replays does not exist; nothing to replay"; \
	fi

check: lint docs-check replays test thorough chaos ## everything a change must pass; CI runs this (e2e takes longer and runs by itself)

lock: setup ## resolve the dependencies anew into requirements-dev.lock
	CUSTOM_COMPILE_COMMAND="make lock" $(VENV)/bin/pip-compile --quiet --upgrade --extra dev --strip-extras \
	    --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    --output-file $(LOCK) pyproject.toml

clean: ## remove caches and build products
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find specdoctor tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv
	rm -rf $(VENV) .venv-bench
