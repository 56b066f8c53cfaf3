import functools
import gc
import os
import signal
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tests run in one process per core, and most of their tensors are tiny.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

import numpy as np
import pytest

if sys.version_info < (3, 12):
    # TensorFlow asks of every argument that is no tensor whether it follows a protocol. Later
    # versions of Python remember a protocol's members: 2 to 4 microseconds instead of 10.
    typing._get_protocol_attrs = functools.cache(typing._get_protocol_attrs)

# Some tests interrupt. What a shell has started in the background ignores that, children included.
signal.signal(signal.SIGINT, signal.default_int_handler)

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"


def pytest_collection_finish() -> None:
    """Collections of garbage need not walk through all that importing TensorFlow leaves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _restored_gpflow_config() -> Iterator[None]:
    """Restore the settings of GPflow (float type, jitter) after every test."""
    # Imported here, since the process that hands out the tests needs neither GPflow nor TensorFlow,
    # and starts the others earlier.
    import gpflow

    with gpflow.config.as_context():
        yield


@pytest.fixture(autouse=True)
def _eager_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes longer than the few calls of a test; the numbers are the same."""
    monkeypatch.setattr("gpflow_gi.core.compiled.EAGER_CALLS", 20)


@pytest.fixture(autouse=True)
def _nothing_compiled_by_other_tests() -> Iterator[None]:
    """A test may replace functions of the library, which compiled loops would not notice."""
    from gpflow_gi.training.compiled_loop import forget_loops

    yield
    forget_loops()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def reference() -> Path:
    """The folder of values from an independent implementation, which is not part of the project."""
    if not REFERENCE.is_dir():
        if os.environ.get("GPFLOW_GI_REQUIRE_REFERENCE"):
            pytest.fail("the folder of reference values must be there, but is not")
        pytest.skip("the folder of reference values is not beside this checkout")
    return REFERENCE
