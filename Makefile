# Bare `make` explains itself: every target's purpose stands behind its name.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
UV := $(VENV)/bin/uv
UV_VERSION := 0.13.9
# `make demo DOCS=folder` takes your own text files instead of the sample documents.
DOCS ?=
# `make test ARGS="-k citations"` hands arguments to pytest.
ARGS ?=
# `make simulate SEED=7 SCHEDULES=1` plays one schedule again, and tells all of it.
SCHEDULES ?= 10000
SEED ?= 0
# `make contracts BREAKING=1` writes down what breaks clients, too.
BREAKING ?=

export UV_PROJECT_ENVIRONMENT := $(VENV)
# The suite and the demo start a hundred processes: each would compile the product anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup lock demo test simulate kills check format contracts bench clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: pyproject.toml uv.lock
	@echo "Fetching everything into $(VENV): under a minute, the first time on a slow line longer."
	@# A setup that was interrupted left something; only a whole one is built upon.
	@if [ -d $(VENV) ] && [ ! -e $@ ]; then rm -rf $(VENV); fi
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet uv==$(UV_VERSION)
	$(UV) sync --frozen --all-extras --inexact --compile-bytecode --quiet
	touch $@

setup: $(VENV)/.ready ## Create .venv with every extra, locked, so that .venv/bin/eai is the command

demo: setup ## Start everything, ingest sample documents, ask as two people, verify the audit (DOCS=folder)
	$(VENV)/bin/eai demo $(if $(DOCS),--docs "$(DOCS)")

test: setup ## Run the whole suite on a real PostgreSQL and a real engine
	$(VENV)/bin/pytest -n 4 $(ARGS)

simulate: setup ## Prove the checker, then play 10,000 schedules of the lifecycle (SCHEDULES=, SEED=)
	EVERY=1 $(VENV)/bin/pytest -q -n 2 tests/simulation/test_bugs.py
	SCHEDULES="$(SCHEDULES)" SEED="$(SEED)" $(VENV)/bin/python -m tests.simulation

kills: setup ## Kill processes at every passage to the outside, where the suite tries one in eight
	EVERY=1 $(VENV)/bin/pytest tests/integration/kills

check: setup ## Formatter, linter, types, layers, architecture and unit tests, in a minute or two
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/pytest -q -n 2 tests/unit tests/architecture

format: setup ## Let the formatter and the linter mend what they can
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

contracts: setup ## Fail where contracts/v1 or docs/reference differ from the code, and write them; explain what breaks clients (BREAKING=1)
	@failed=; for module in eai.api.contracts eai.cli.reference; do \
	  $(VENV)/bin/python -m $$module --check || { failed=1; $(VENV)/bin/python -m $$module $(if $(BREAKING),--breaking) > /dev/null 2>&1; } || true; \
	done; \
	if [ -n "$$failed" ]; then echo "These differed from the code. What breaks nobody is written by now: look at the difference." >&2; exit 1; fi

bench: setup ## Measure against named floors and peers, and print the tables of docs/benchmarks.md
	$(VENV)/bin/python -m benchmarks

lock: setup ## Resolve the dependencies again and rewrite uv.lock
	$(UV) lock

clean: ## Remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
