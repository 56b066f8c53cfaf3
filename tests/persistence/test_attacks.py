"""Files that try to run something: nothing runs, whatever stands at any place of a file."""

import os
import sys
import tempfile

import numpy as np
import pytest
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.persistence import LoadError

from .files import NEW, fixture, nodes, write
from .watching import watched

INLINE = "tensorflow_probability.python.bijectors.inline:Inline"
CHAIN = "tensorflow_probability.python.bijectors.chain:Chain"


def first(described, key):
    return next(node for node in nodes(described) if key in node)


def with_transform(transform):
    """A file whose first parameter has a bijector of the attacker's."""
    architecture, arrays = fixture()
    parameter = first(architecture["model"], "parameter")
    parameter["transform"] = {**transform, "number": NEW}
    return architecture, arrays


def with_layer(function):
    """A file with a deterministic layer of the attacker's."""
    architecture, arrays = fixture("functions")
    layer = next(
        node for node in nodes(architecture["model"]) if "function" in node.get("attributes", {})
    )
    layer["attributes"]["function"] = function
    return architecture, arrays


def vectorised(name):
    """A np.vectorize object, which calls a function by a name."""
    attributes = {"pyfunc": {"named": name}, "otypes": None, "excluded": None, "signature": None}
    return {"object": "numpy:vectorize", "attributes": attributes, "number": NEW}


def inline(function):
    return {
        "made": INLINE,
        "arguments": [["forward_fn", function], ["forward_min_event_ndims", 0]],
    }


def keras(config):
    return {"keras": config, "weights": [], "trainable": [True], "number": NEW}


def keras_layer(class_name, config, module="keras.layers", **other):
    return {
        "module": module,
        "class_name": class_name,
        "config": config,
        "registered_name": None,
        **other,
    }


CHAINS = {
    "os.system through a dotted path": lambda: with_layer(
        {"named": "gpflow_gi.persistence.archive:os.system"}
    ),
    "os.system by its own name": lambda: with_layer({"named": "posix:system"}),
    "np.vectorize in Inline": lambda: with_transform(
        inline(vectorised("gpflow_gi.persistence.archive:os.system"))
    ),
    "np.vectorize through a package": lambda: with_transform(
        inline({**vectorised("os:system"), "object": "gpflow_gi.core.cholesky:np.vectorize"})
    ),
    "Inline with a function": lambda: with_transform(
        inline({"named": "gpflow_gi.persistence.archive:os.abort"})
    ),
    "deletes a file": lambda: with_layer(
        {
            "object": "gpflow_gi.persistence.archive:tempfile._TemporaryFileCloser",
            "attributes": {"name": "victim", "delete": True, "unlink": {"named": "posix:unlink"}},
            "number": NEW,
        }
    ),
    "deletes a file, by its own name": lambda: with_layer(
        {
            "object": "tempfile:_TemporaryFileCloser",
            "attributes": {"name": "victim", "delete": True},
            "number": NEW,
        }
    ),
    "runs a module on import": lambda: with_layer({"named": "gpflow_gi.__main__:x"}),
    "imports a module": lambda: with_layer({"named": "gpflow_gi.experiments.toy:x"}),
    "Autoregressive with os.abort": lambda: with_transform(
        {
            "made": "tensorflow_probability.python.distributions.autoregressive:Autoregressive",
            "arguments": [
                ["distribution_fn", {"named": "gpflow_gi.core.json_file:platform.os.abort"}]
            ],
        }
    ),
    "a listed bijector with a function": lambda: with_transform(
        {
            "made": "tensorflow_probability.python.bijectors.cholesky_outer_product"
            ":CholeskyOuterProduct",
            "arguments": [["cholesky_fn", {"named": "tensorflow.python.ops.gen_nn_ops:relu"}]],
        }
    ),
    "a Keras Lambda": lambda: with_layer(
        keras(
            keras_layer(
                "Lambda",
                {
                    "name": "run",
                    "function": {
                        "module": "builtins",
                        "class_name": "function",
                        "config": "eval",
                        "registered_name": "eval",
                    },
                },
            )
        )
    ),
    "a Keras lambda's code": lambda: with_layer(
        keras(
            keras_layer(
                "Activation",
                {"activation": {"class_name": "__lambda__", "config": {"value": ["4wA=", None]}}},
            )
        )
    ),
    "eval as an activation": lambda: with_layer(
        keras(
            keras_layer(
                "Activation",
                {
                    "activation": {
                        "module": "builtins",
                        "class_name": "function",
                        "config": "eval",
                        "registered_name": "eval",
                    }
                },
            )
        )
    ),
    "a class within a Keras model": lambda: with_layer(
        keras(
            keras_layer(
                "Sequential",
                {"name": "s", "layers": [keras_layer("system", {"command": "x"}, "os")]},
                "keras",
            )
        )
    ),
    "an initialiser from elsewhere": lambda: with_layer(
        keras(
            keras_layer(
                "Dense",
                {"units": 2, "kernel_initializer": keras_layer("system", {}, "os")},
                build_config={"input_shape": [2, 2]},
            )
        )
    ),
    "an optimizer with a Keras layer": lambda: with_layer(
        keras(
            keras_layer(
                "Dense",
                {"units": 2},
                build_config={"input_shape": [2, 2]},
                compile_config={"optimizer": "os.system"},
            )
        )
    ),
    "a TensorFlow operation by its name": lambda: with_layer(
        keras(keras_layer("TFOpLambda", {"name": "x", "function": "io.write_file"}, "keras"))
    ),
    "writes a file": lambda: with_layer(
        {"made": "tensorflow.python.ops.gen_io_ops:write_file", "arguments": [], "number": NEW}
    ),
    "loads a library": lambda: with_layer(
        {"named": "tensorflow.python.framework.load_library:load_library"}
    ),
    "a class of a class": lambda: with_layer(
        {"named": "gpflow_gi.nonlinearities:relu.__globals__"}
    ),
    "another class of an object": lambda: with_attribute("__class__", "x"),
    "another method of an object": lambda: with_attribute(
        "predict_f", {"named": "tensorflow.python.ops.gen_nn_ops:relu"}
    ),
    "an attribute that nobody has": lambda: with_attribute("anything", 1),
    "__reduce__": lambda: with_attribute("__reduce__", 1),
}


def with_attribute(name, value):
    architecture, arrays = fixture()
    architecture["model"]["attributes"][name] = value
    return architecture, arrays


REASONS = (
    "not on the lists",
    "the file gives CholeskyOuterProduct the argument",
    "which has no such attribute",
    "no name of a class or a function",
    "the file describes a Keras layer by",
    "the file gives Dense of Keras the argument",
    "no weights of shape",
    "the operation 'io.write_file'",
)


@pytest.mark.parametrize("chain", CHAINS)
def test_nothing_of_a_chain_runs(chain, tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("here")
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "model", *CHAINS[chain]())
    called = []
    for name in ("system", "abort", "unlink"):
        monkeypatch.setattr(os, name, lambda *arguments: called.append(arguments))
    monkeypatch.setattr(np, "vectorize", lambda *arguments: called.append(arguments))
    monkeypatch.setattr(tempfile, "_TemporaryFileCloser", lambda *given: called.append(given))
    modules = set(sys.modules)
    with watched() as events, pytest.raises(LoadError) as error:
        gi.load(path)
    said = str(error.value)
    assert "\n" not in said
    assert any(reason in said for reason in REASONS), said  # and not for a slip of this test
    assert not called and not events
    assert "gpflow_gi.__main__" not in sys.modules
    assert not {name for name in set(sys.modules) - modules if name.startswith("gpflow_gi")}
    assert (tmp_path / "victim").exists()


def test_the_chains_would_run_something():
    """A function in such a chain does run if its name is trusted."""
    architecture, arrays = with_transform(
        inline({"named": "tests.persistence.test_attacks:record"})
    )
    with tempfile.TemporaryDirectory() as folder:
        path = write(os.path.join(folder, "model"), architecture, arrays)
        CALLED.clear()
        with pytest.raises(LoadError):
            gi.load(path, trusted=[record, tfp.bijectors.Inline])
    assert CALLED


CALLED = []


def record(*arguments):
    CALLED.append(arguments)
    raise ValueError


def test_what_the_process_has_registered_with_keras_is_not_for_files(tmp_path):
    class Registered(tf_keras.layers.Layer):
        def __init__(self, **options):
            CALLED.append("Registered")
            super().__init__(**options)

    with tf_keras.utils.custom_object_scope({"mine>Registered": Registered, "shout": record}):
        for config in (
            keras_layer("Registered", {}, None, registered_name="mine>Registered"),
            keras_layer("Dense", {"units": 2}, registered_name="mine>Registered"),
            keras_layer("Activation", {"activation": "shout"}),
        ):
            CALLED.clear()
            path = write(tmp_path / "model", *with_layer(keras(config)))
            with pytest.raises(LoadError):
                gi.load(path)
            assert not CALLED
