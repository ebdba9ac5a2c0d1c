# Bare `make` explains itself: every target's purpose stands behind its name.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
UV := $(VENV)/bin/uv
UV_VERSION := 0.13.9
DOCS ?=

export UV_PROJECT_ENVIRONMENT := $(VENV)

.PHONY: help setup lock test check format demo bench contracts clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: pyproject.toml uv.lock
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet uv==$(UV_VERSION)
	$(UV) sync --frozen --all-extras --inexact --compile-bytecode --quiet
	touch $@

setup: $(VENV)/.ready ## Create .venv with every extra, locked, so that .venv/bin/eai is the command

lock: setup ## Resolve the dependencies again and rewrite uv.lock
	$(UV) lock
