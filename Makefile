# make            set up .venv, compile the Kangaroo biped and print its report
# make test       lint, format, types and the whole test suite
# make golden     write generated/fourbar again after a wanted change of the emitted text
# make pictures   draw docs/*.svg again
# make view-picture  make docs/view.png again; needs Chromium
# make bench      run the benchmarks
# make nightly    compile 2000 random mechanisms and compare them with the oracles: hours (RANDOM=, SEED= choose others)
# make clean      remove what make built (make distclean: the virtual environment too)
#
# Needs python3 (3.11 or newer, with its venv module) and a C compiler.  PYTHON=... chooses another interpreter.
# All paths are relative, so a checkout in a folder with spaces works.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
MODEL ?= models/kangaroo.yaml
PYTEST_ARGS ?=
RANDOM ?= 2000
SEED ?= 0

.DELETE_ON_ERROR:
.PHONY: all install test lint golden pictures view-picture bench nightly clean distclean

all: $(INSTALLED)
	$(BIN)/robocompile $(MODEL) -o build/

install: $(INSTALLED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: RoboCompiler needs Python 3.11 or newer; PYTHON=/path/to/python3.12 make chooses one" >&2; exit 1; }
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -c 'import virtualenv' 2>/dev/null; then $(PYTHON) -m virtualenv --quiet $(VENV); \
	else \
	  echo "make: this Python cannot make virtual environments.  On Debian or Ubuntu: apt-get install python3-venv" >&2; \
	  echo "make: elsewhere install its venv module (with ensurepip), or virtualenv; then run make again" >&2; exit 1; \
	fi

# The stamps are older than pyproject.toml only when the dependencies may have changed.
$(INSTALLED): pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable .
	@touch $@

$(TESTABLE): pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[test]'
	@touch $(INSTALLED) $@

lint: $(TESTABLE)
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy

# Every check runs even if an earlier one fails; pytest's summary comes last unless a check failed.  mypy, which
# uses one core, runs beside pytest; its findings follow the summary.
test: $(TESTABLE)
	@failed=""; types="$(VENV)/mypy.log"; \
	$(BIN)/python -m mypy >"$$types" 2>&1 & mypy=$$!; \
	check() { name="$$1"; shift; echo "== $$name"; "$$@" || failed="$$failed $$name,"; }; \
	check "ruff check" $(BIN)/python -m ruff check; \
	check "ruff format" $(BIN)/python -m ruff format --check; \
	echo "== mypy (beside pytest)"; \
	check "pytest" $(BIN)/python -m pytest -n auto $(PYTEST_ARGS); \
	wait "$$mypy" || { failed="$$failed mypy,"; echo "== mypy"; cat "$$types"; }; \
	if [ -n "$$failed" ]; then echo "FAILED:$${failed%,}" >&2; exit 1; fi

golden: $(INSTALLED)
	$(BIN)/python tests/golden.py

pictures: $(INSTALLED)
	$(BIN)/python docs/pictures.py

view-picture: $(TESTABLE)
	$(BIN)/python docs/view_picture.py

bench: $(TESTABLE)
	$(BIN)/python -m benchmarks.run

# Mechanisms that fail are kept in build/nightly; the numbers need the packages of the verify extra.
nightly: $(TESTABLE)
	$(BIN)/robocompile check --random $(RANDOM) --seed $(SEED) --save build/nightly

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
