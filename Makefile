# Everything runs inside .venv, which is made with one pip command: the package itself for the demo,
# and what tests and checks need on top of it for the rest.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install

TABLES := training_step other_libraries time_to_quality bnn_step iwbo spaces convolution prediction scaling float32 start_up paper_network xla fewer_steps levers ideas
BENCH :=

TUTORIALS := $(patsubst %.pct.py,%.ipynb,$(wildcard tutorials/*.pct.py))

.PHONY: demo test test-slow test-longest lint check docs tutorials bench $(TABLES:%=bench-%) trieste clean

demo: .venv/package
	$(BIN)/gpflow-gi compare

test: .venv/development
	$(BIN)/python -m pytest -m "not slow and not longest" --numprocesses 2 --dist loadgroup

test-slow: .venv/development
	$(BIN)/python -m pytest -m "slow and not longest" --numprocesses 2 --dist loadgroup

# scikit-learn's checks of all estimators, every benchmark in its fast setting, the README's table of
# the demo, tutorials and experiments that train many models: left out of CI.
test-longest: .venv/development
	$(BIN)/python -m pytest -m longest

lint: .venv/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

# Every warning is an error: links that lead nowhere, names that do not exist, TeX that is no TeX.
docs: .venv/development
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html
	@echo The site is docs/_build/html/index.html

# The notebooks whose sources have changed; a single one: make tutorials/NAME.ipynb
tutorials: $(TUTORIALS)

tutorials/%.ipynb: tutorials/%.pct.py | .venv/development
	$(BIN)/python tutorials/execute.py $<

# One process for each table, one after the other, about three hours on a machine that does nothing
# else; BENCH=--fast only shows that they run. A single one: make bench-scaling; on two threads:
# make bench-training_step BENCH_THREADS=2.
bench:
	for table in $(TABLES); do $(MAKE) bench-$$table || exit 1; done

$(TABLES:%=bench-%): bench-%: .venv/development
	$(BIN)/python -m tests.benchmarks.$* $(BENCH)

# Trieste needs an earlier TensorFlow: an environment of its own. BENCH=--fast, or --seeds 3, for less
# than ten optimisations of each function with each model, which take hours and can be stopped.
trieste: .venv-trieste/made
	.venv-trieste/bin/python -m pytest tests/interop/test_trieste.py
	.venv-trieste/bin/python -m tests.benchmarks.trieste_regret $(BENCH)

.venv-trieste/made: pyproject.toml
	$(PYTHON) -m venv .venv-trieste
	.venv-trieste/bin/python -m pip --disable-pip-version-check install --editable ".[trieste]" pytest
	touch $@

clean:
	rm -rf .venv .venv-trieste build dist docs/_build docs/tutorials *.egg-info .mypy_cache .pytest_cache .ruff_cache

.venv/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12) and \
	    "Python 3.10, 3.11 or 3.12 is needed (GPflow needs numpy < 2); choose one with make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/package: .venv/python pyproject.toml
	$(PIP) --editable .
	touch $@

.venv/development: .venv/python pyproject.toml
	$(PIP) --editable ".[dev]"
	touch $@ .venv/package
