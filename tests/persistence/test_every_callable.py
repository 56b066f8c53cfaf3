"""All that is loaded with this library, by name at each kind of place of a file: none is called."""

import gc
import importlib
import pkgutil
import random
import sys
from contextlib import contextmanager

import pytest

import gpflow_gi as gi
from gpflow_gi.persistence import keras_configs, lists
from gpflow_gi.persistence.decoding import Decoder
from gpflow_gi.persistence.names import Names, own_name, present_name

DETERMINISTIC = "gpflow_gi.layers.deterministic:Deterministic"
CHAIN = "tensorflow_probability.python.bijectors.chain:Chain"
SOFTPLUS = "tensorflow_probability.python.bijectors.softplus:Softplus"


def keras(module, class_name, config, **other):
    described = {"module": module, "class_name": class_name, "config": config}
    described = {**described, "registered_name": class_name, **other}
    return {"keras": described, "weights": [], "trainable": [True], "number": 0}


def split(name):
    return name.partition(":")[::2]


def dense(**config):
    return keras("keras.layers", "Dense", {"units": 1, "dtype": "float64", **config})


def function_of(name):
    module, last = split(name)
    return {
        "module": module,
        "class_name": "function",
        "config": last,
        "registered_name": last,
    }


PLACES = {
    "a function": lambda name: {
        "object": DETERMINISTIC,
        "attributes": {"function": {"named": name}},
        "number": 0,
    },
    "an object": lambda name: {"object": name, "attributes": {}, "number": 0},
    "an object with attributes": lambda name: {
        "object": name,
        "attributes": {"_name": "x", "delete": True, "close_called": False},
        "number": 0,
    },
    "a bijector or distribution": lambda name: {"made": name, "arguments": [], "number": 0},
    "one with an argument": lambda name: {
        "made": name,
        "arguments": [["x", "touch owned"]],
        "number": 0,
    },
    "an argument": lambda name: {
        "made": CHAIN,
        "arguments": [["bijectors", {"list": [{"made": name, "arguments": [], "number": 1}]}]],
        "number": 0,
    },
    "a function as an argument": lambda name: {
        "made": SOFTPLUS,
        "arguments": [["hinge_softness", {"named": name}]],
        "number": 0,
    },
    "a Keras layer": lambda name: keras(*split(name), {"name": "x"}),
    "a registered Keras layer": lambda name: keras(None, split(name)[1], {}),
    "a Keras activation": lambda name: dense(activation=function_of(name)),
    "a Keras activation by its name": lambda name: dense(activation=name),
    "the last part of one": lambda name: dense(activation=split(name)[1] + "_"),
    "a Keras initialiser": lambda name: dense(kernel_initializer=keras(*split(name), {})["keras"]),
    "a Keras constraint": lambda name: dense(kernel_constraint=function_of(name)),
    "a type": lambda name: {"dtype": name},
}

LISTED = {
    own_name(thing)
    for things in (lists.objects(), lists.constructed(), lists.values())
    for thing in things
}
OF_KERAS = {name.rpartition(".")[2] for name in lists.ACTIVATIONS_OF_KERAS.split()} | set(
    lists.keras_classes()
)


def all_modules():
    for name in gi._SUBMODULES:
        for module in (
            pkgutil.walk_packages(getattr(gi, name).__path__, f"gpflow_gi.{name}.")
            if (hasattr(getattr(gi, name), "__path__"))
            else ()
        ):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return sorted((name, module) for name, module in list(sys.modules.items()) if module)


def all_names():
    """Every callable of every module by its dotted path, and those of modules in ours."""
    names = set()
    for name, module in all_modules():
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if _is_callable(value):
                names.add(f"{name}:{attribute}")
            if name.startswith("gpflow_gi") and isinstance(value, type(sys)):
                names.update(
                    f"{name}:{attribute}.{inner}"
                    for inner, one in list(vars(value).items())
                    if _is_callable(one)
                )
    return sorted(names)


def _is_callable(value):
    try:
        return callable(value)
    except Exception:
        return False


@contextmanager
def traced():
    """A set of all functions that are called within, those in C too."""
    called = set()

    def trace(frame, event, argument):
        if event == "call":
            called.add(frame.f_code)
        elif event == "c_call":
            called.add((argument.__module__, getattr(argument, "__qualname__", None)))

    gc.disable()
    sys.setprofile(trace)
    try:
        yield called
    finally:
        sys.setprofile(None)
        gc.enable()


def refusal(described):
    """Calls made while a description is refused."""
    with traced() as called:
        try:
            Decoder({}, Names()).make(described)
        except LookupError:
            refused = True
        except TypeError:  # of tf.as_dtype
            refused = "dtype" in described
        else:
            refused = False
    return refused, called


NOBODYS = (
    "nowhere:nothing",
    "no.where:no.thing",
    "nowhere:<nothing>",
    "nowhere:é",
    "nowhere:" + "x" * 300,
    "nowhere:function",  # the word that Keras has for a function, where a class could be
)
"""Names of no thing."""


def try_all(names):
    # What it takes to say no to a name that nobody has, of either kind.
    usual = {}
    for place, make in PLACES.items():
        for _ in range(2):
            usual[place] = set()
            for name in NOBODYS:
                refused, called = refusal(make(name))
                assert refused
                usual[place] |= called
    tried = 0
    for name in names:
        last = split(name)[1]
        if present_name(name) in LISTED or last in OF_KERAS:
            continue
        for place, make in PLACES.items():
            refused, called = refusal(make(name))
            tried += 1
            assert refused, f"{name} at {place}"
            more = called - usual[place]
            assert not more, f"{name} at {place} calls {more}"
    return tried


def test_a_sample_of_all_callables(capsys):
    names = all_names()
    some = random.Random(0).sample(names, 300)
    tried = try_all(some)
    with capsys.disabled():
        print(f"\n{tried} of {len(names) * len(PLACES)} names at places tried, none called", end="")
    assert tried > 3000


@pytest.mark.longest
def test_all_callables(capsys):
    names = all_names()
    tried = try_all(names)
    with capsys.disabled():
        print(f"\n{len(names)} callables at {len(PLACES)} places: {tried} tried, none called")
    assert tried > 100_000


def test_the_tracer_sees_what_is_called():
    def python():
        return len("x")

    with traced() as called:
        python()
    assert python.__code__ in called and ("builtins", "len") in called


def test_what_is_refused_here_is_found_where_it_is_trusted():
    names = Names(trusted=[try_all])
    name = own_name(try_all)
    assert Decoder({}, names).make({"named": name}) is try_all
    assert not refusal(PLACES["a Keras layer"]("keras.layers:Flatten"))[0]
    assert keras_configs.is_listed(lists.keras_classes()["Dense"])
