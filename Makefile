# Everything runs inside .venv, which the first target makes with one pip command.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow check lint bench clean

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

demo: .venv/installed
	$(BIN)/gpflow-gi compare

test: .venv/installed
	$(BIN)/python -m pytest -m "not slow"

test-slow: .venv/installed
	$(BIN)/python -m pytest -m slow

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

bench: .venv/installed
	$(BIN)/python -m tests.benchmarks.training_step

clean:
	rm -rf .venv build dist *.egg-info
