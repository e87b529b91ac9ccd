# Needs make, Python 3.11 or later and pip; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
INTEGRATIONS_VENV := .venv-integrations
LOCK_VENV := .venv-lock
AUDIT_VENV := .venv-audit
OLDEST_VENV := .venv-oldest
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP_INSTALL := -m pip --disable-pip-version-check install --quiet
UV := uv==0.13.7
PIP_AUDIT := pip-audit==2.9.0
WITH_SRC := PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH}
UPGRADE ?=
PYTHONS ?= $(PYTHON)
PYTEST = $(VENV)/$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup
COMPILE = $(LOCK_VENV)/$(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --no-annotate \
	--custom-compile-command "make lock" $(UPGRADE)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-all test-faults test-cuda test-integrations test-pythons test-oldest audit-dependencies browser screenshots check format bench docs notebooks release-check lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## train on the bundled Nations, predict, explain and verify
	$(VENV)/$(BIN)/whereof demo

test: $(VENV)/.installed ## run the fast tests (ARGS="tests/models -k rotate" for some)
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/.installed ## run the slow tests
	$(PYTEST) -m slow $(ARGS)

test-all: $(VENV)/.installed browser ## run all tests, fast and slow, those of pages too
	$(PYTEST) $(ARGS)

test-faults: $(VENV)/.installed ## kill, flip and fuzz for a long time: 100 kills, 60 s of fuzzing per reader
	WHEREOF_KILLS=20 WHEREOF_FLIPS=20 WHEREOF_FUZZ_SECONDS=60 WHEREOF_EXAMPLES=1000 $(PYTEST) tests/faults $(ARGS)

test-pythons: ## run the fast tests with several interpreters (PYTHONS="python3.12 python3.13"), each in its own .venv-NAME
	set -e; for each in $(PYTHONS); do \
		$(MAKE) test PYTHON=$$each VENV=.venv-$$(basename $$each) ARGS="$(ARGS)"; \
	done

# Old packages warn about newer ones, so warnings are not errors here.
test-oldest: $(OLDEST_VENV)/.installed ## run the fast tests with the oldest dependencies that are allowed, in .venv-oldest
	$(OLDEST_VENV)/$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup -m "not slow" -W default $(ARGS)

audit-dependencies: $(AUDIT_VENV)/.installed ## look for known security holes in the pinned dependencies (needs the internet)
	$(AUDIT_VENV)/$(BIN)/pip-audit --strict --no-deps --disable-pip $(foreach part,core dev docs cuda,-r requirements/$(part).txt)

browser: $(VENV)/.installed ## install a browser for the tests of pages, if there is none
	$(VENV)/$(BIN)/python tests/browser/chromium.py

screenshots: $(VENV)/.installed ## take the pictures of the pages for the docs
	$(VENV)/$(BIN)/python tests/browser/screenshots.py $(ARGS)

test-cuda: ## run the tests that need a CUDA GPU, with PYTHON as it is (creates no environment)
	@$(WITH_SRC) $(PYTHON) -c "import sys; sys.tracebacklimit = 0; from whereof.retrain.cuda.card import open_card; print(open_card('make test-cuda').name)"
	$(WITH_SRC) $(PYTHON) -m pytest -m cuda tests/retrain/cuda $(ARGS)

test-integrations: $(INTEGRATIONS_VENV)/.installed ## run the tests that need PyTorch and PyKEEN, and the examples
	$(INTEGRATIONS_VENV)/$(BIN)/python -m pytest -n auto --maxprocesses 4 tests/integrations \
		"tests/test_snippets.py::test_tutorials_run[docs/tutorials/pytorch.ipynb]" $(ARGS)

check: $(VENV)/.installed ## format, lint, types and import rules
	$(VENV)/$(BIN)/ruff format --check .
	$(VENV)/$(BIN)/ruff check .
	$(VENV)/$(BIN)/mypy
	$(VENV)/$(BIN)/lint-imports

format: $(VENV)/.installed ## format and fix what ruff can fix
	$(VENV)/$(BIN)/ruff check --fix .
	$(VENV)/$(BIN)/ruff format .

bench: $(BENCH_VENV)/.installed ## compare training speed with PyTorch
	$(BENCH_VENV)/$(BIN)/python benchmarks/train.py $(ARGS)

docs: $(VENV)/.docs ## build the documentation into docs/_build/html
	$(VENV)/$(BIN)/sphinx-build -W -b html docs docs/_build/html

notebooks: $(INTEGRATIONS_VENV)/.docs ## execute the tutorials, and keep their outputs
	$(INTEGRATIONS_VENV)/$(BIN)/python tools/notebooks.py $(ARGS)

release-check: $(VENV)/.installed ## build wheel and sdist, check them, install them afresh (PYTHONS="python3.12 ...")
	rm -rf dist
	$(VENV)/$(BIN)/python -m build --outdir dist
	$(VENV)/$(BIN)/python tools/release_check.py dist --python $(PYTHONS)

lock: $(LOCK_VENV)/.installed ## regenerate the pinned versions in requirements/ (UPGRADE=--upgrade for newer ones)
	$(COMPILE) pyproject.toml -o requirements/core.txt
	$(COMPILE) pyproject.toml requirements/build.in --extra dev -c requirements/core.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra docs -c requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) pyproject.toml --extra cuda -c requirements/core.txt -o requirements/cuda.txt

clean: ## remove environments, caches and build outputs
	rm -rf $(VENV) $(VENV)-* build dist docs/_build \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

%/.python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("whereof needs Python 3.11 or later; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $*
	@touch $@

$(VENV)/.installed: $(VENV)/.python requirements/dev.txt pyproject.toml
	$(VENV)/$(BIN)/python $(PIP_INSTALL) -r requirements/dev.txt
	$(VENV)/$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

%/.docs: %/.installed requirements/docs.txt
	$*/$(BIN)/python $(PIP_INSTALL) -r requirements/docs.txt
	@touch $@

$(BENCH_VENV)/.installed: $(BENCH_VENV)/.python requirements/bench.txt requirements/dev.txt pyproject.toml
	$(BENCH_VENV)/$(BIN)/python $(PIP_INSTALL) -r requirements/bench.txt
	$(BENCH_VENV)/$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(INTEGRATIONS_VENV)/.installed: $(INTEGRATIONS_VENV)/.python requirements/integrations.txt requirements/dev.txt pyproject.toml
	$(INTEGRATIONS_VENV)/$(BIN)/python $(PIP_INSTALL) -r requirements/integrations.txt
	$(INTEGRATIONS_VENV)/$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(OLDEST_VENV)/.installed: $(LOCK_VENV)/.installed $(OLDEST_VENV)/.python pyproject.toml
	$(LOCK_VENV)/$(BIN)/uv pip compile --quiet pyproject.toml --extra dev --resolution lowest-direct \
		--python $(OLDEST_VENV)/$(BIN)/python -o $(OLDEST_VENV)/requirements.txt
	$(OLDEST_VENV)/$(BIN)/python $(PIP_INSTALL) -r $(OLDEST_VENV)/requirements.txt
	$(OLDEST_VENV)/$(BIN)/python $(PIP_INSTALL) --no-deps -e .
	@touch $@

$(AUDIT_VENV)/.installed: $(AUDIT_VENV)/.python
	$(AUDIT_VENV)/$(BIN)/python $(PIP_INSTALL) $(PIP_AUDIT)
	@touch $@

$(LOCK_VENV)/.installed: $(LOCK_VENV)/.python
	$(LOCK_VENV)/$(BIN)/python $(PIP_INSTALL) $(UV)
	@touch $@

.PRECIOUS: %/.python
