# The front door. Needs python3 (3.11 or newer), make and a package index; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin

# Whose environments `make dist` tries its archives in.
PYTHONS ?= $(BIN)/python
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)

SEED ?= 0
SECONDS ?= 60

.DEFAULT_GOAL := help
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal
NATIVE := setup.py $(wildcard src/untrue/kernels/*.[ch])
SANITIZED := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
.PHONY: help install demo quick test test-frameworks asan lint check format bench fuzz docs dist clean

help:  ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/dev.stamp  ## Make .venv with everything that the other targets need.

demo: .venv/lab.stamp  ## Train on real digits, offline, and show where the errors went (about two minutes).
	$(BIN)/untrue run demo --out out/demo
	$(BIN)/untrue report out/demo

quick: .venv/dev.stamp  ## Run the tests for while you work: all but the slow ones.
	$(PYTEST) --ignore=tests/frameworks -m "not slow"

test: .venv/dev.stamp  ## Run every test but those of other frameworks.
	$(PYTEST) --ignore=tests/frameworks

test-frameworks: .venv/frameworks.stamp .venv/docs.stamp  ## Run the tests with other frameworks, the site and the notebook.
	$(PYTEST) tests/frameworks --ignore=tests/frameworks/test_ray.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/frameworks/test_ray.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --nbmake docs/notebook.ipynb

asan: .venv/dev.stamp  ## Run the C kernels' tests under AddressSanitizer and UBSan (gcc).
	rm -rf build/asan
	UNTRUE_CFLAGS="$(SANITIZED)" $(BIN)/python setup.py -q build --build-base build/asan --build-lib build/asan/lib
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONPATH=build/asan/lib OMP_NUM_THREADS=2 \
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/functional/native tests/test_newton.py

lint: .venv/dev.stamp  ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test  ## What CI runs: lint, then test.

format: .venv/dev.stamp  ## Put the code into the house style.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp  ## Measure losses, training, metrics, penalties, report, bounds, tuning; writes benchmarks/results.
	$(BIN)/python -m benchmarks.losses
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.metrics
	$(BIN)/python -m benchmarks.penalty
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.bounds
	$(BIN)/python -m benchmarks.tuning

fuzz: .venv/dev.stamp  ## Try damaged and hostile files and options for a minute (SECONDS=600: for longer).
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz --seed $(SEED) --seconds $(SECONDS)

docs: .venv/docs.stamp  ## Build the documentation site, offline and strictly, into build/site.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo build/site/index.html

dist: .venv/dev.stamp  ## Build source archive and wheel into dist/, install each into an empty environment, try it.
	rm -rf dist build/smoke
	@mkdir -p build
	$(BIN)/python -m build --no-isolation . >build/dist.log 2>&1 || { tail -20 build/dist.log; exit 1; }
	for python in $(PYTHONS); do for archive in dist/*; do \
		place="$(CURDIR)/build/smoke/$$(basename $$python)-$${archive##*.}" && rm -rf "$$place" && \
		$$python -m venv "$$place" && \
		"$$place/bin/python" -m pip install --quiet -c constraints.txt "$$archive" && \
		(cd "$$place" && bin/python "$(CURDIR)/tests/dist_program.py" "$(VERSION)") || exit 1; \
	done; done
	@ls dist/*

clean:  ## Remove the environment and all caches.
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "untrue needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/lab.stamp: pyproject.toml constraints.txt $(NATIVE) | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[lab]"
	@$(BIN)/python -m untrue.functional.native
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt $(NATIVE) | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@$(BIN)/python -m untrue.functional.native
	@touch $@ .venv/lab.stamp

.venv/frameworks.stamp: .venv/dev.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[frameworks]"
	@touch $@

.venv/docs.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	@touch $@
