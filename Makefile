# `make` lists the targets.  PYTHON picks the interpreter of the virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := .demo/index

.PHONY: help install minilm demo test test-slow test-train lint check format servers peers bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/toolwise: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: $(BIN)/toolwise
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

install: $(BIN)/toolwise  ## make the virtual environment and install toolwise, core only

minilm: $(BIN)/toolwise  ## install the encoder `minilm` from models/toolwise-minilm
	$(BIN)/pip install --quiet --disable-pip-version-check models/toolwise-minilm

demo: $(BIN)/toolwise  ## index the demo catalogue and answer three requests
	@$(BIN)/toolwise index examples/demo/tools.jsonl --into $(DEMO)
	@$(BIN)/toolwise select $(DEMO) "Ida Merrow asks where her order 48213 is. Look the order up, track the parcel and draft her a short email with an apology."
	@$(BIN)/toolwise select $(DEMO) "The HT-220 hedge trimmer has been recalled. What would it cost us to refund all orders that contain it?"
	@$(BIN)/toolwise select $(DEMO) "Sharpen the shears in the workshop and oil their hinges."

test: $(VENV)/.test  ## install the test extra and run the fast tests
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.test  ## run the slow tests
	$(BIN)/python -m pytest -m slow

test-train: ## run the tests that need torch, in a virtual environment of their own
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/pip install --quiet --disable-pip-version-check -e '.[test,train]'
	.venv-train/bin/python -m pytest tests/learn

lint: $(VENV)/.dev  ## format, lint and types
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy

check: lint test  ## what to run before a commit: format, lint, types, architecture, fast tests

format: $(VENV)/.dev  ## put the code into its format
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix --quiet src tests benchmarks || true

servers: $(VENV)/.test  ## install the reference MCP servers that tests start, as locked in tests/servers
	npm ci --prefix tests/servers --no-audit --no-fund
	$(BIN)/pip install --quiet --disable-pip-version-check -r tests/servers/requirements.txt

peers: $(BIN)/toolwise  ## install the rivals of the bench, each into its own virtual environment
	$(BIN)/python -m toolwise.bench.peers.install

bench: $(VENV)/.test  ## measure quality and speed into results/ and README (needs the data sets)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks.fusion
	$(BIN)/python -m benchmarks.fit
	$(BIN)/python -m benchmarks.audit
	$(BIN)/python -m benchmarks.select
	$(BIN)/python -m benchmarks.sets_kernel
	$(BIN)/toolwise bench run retrieval
	$(BIN)/toolwise bench run exposure
	$(BIN)/toolwise bench run abstain
	$(BIN)/toolwise bench run multilingual
	$(BIN)/python -m benchmarks.readme

clean:  ## remove what make made
	rm -rf $(VENV) .demo .peers build dist
