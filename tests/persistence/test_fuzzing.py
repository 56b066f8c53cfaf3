"""Files with anything in them: an error in words, or the model that the file describes."""

import copy
import json
import random
import resource
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpflow_gi as gi
from gpflow_gi.persistence import LoadError
from gpflow_gi.persistence.encoding import Encoder
from gpflow_gi.persistence.names import present_name

from .files import NEW, fixture, nodes, parts, write
from .fixtures.make import HERE
from .watching import watched

FILES = (
    "recorded",
    "network-scale-factorised",
    "deep-gp",
    "keras-images",
    "likelihood-heteroskedastic-laplace",
    "likelihood-softmax",
    "categorical",
)

NAMES = [
    "os:system",
    "posix:system",
    "builtins:eval",
    "builtins:exec",
    "numpy:vectorize",
    "tempfile:_TemporaryFileCloser",
    "gpflow_gi.persistence.archive:os.system",
    "gpflow_gi.__main__:x",
    "subprocess:Popen",
    "tensorflow.python.ops.gen_io_ops:write_file",
    "tensorflow_probability.python.bijectors.inline:Inline",
    "tensorflow.python.ops.gen_nn_ops:relu",
    "tensorflow_probability.python.bijectors.exp:Exp",
    "tensorflow_probability.python.distributions.normal:Normal",
    "gpflow.kernels.stationaries:Matern32",
    "gpflow_gi.layers.gp:GPLayer",
    "gpflow_gi.models.deep_gp:DeepGP",
    "Lambda",
    "keras.layers",
    "eval",
    "__class__",
    "__dict__",
    "function",
    "kernel",
]

SCALARS = [None, True, False, 0, 1, -1, 2, 3, 10**6, 10**30, 0.5, -2.5, 1e308, "", "x", "é\n\0"]


def containers(tree):
    """Every dictionary and list in a tree."""
    if isinstance(tree, dict | list):
        yield tree
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(one)


def mutated(tree, rng):
    """A tree with one thing in it changed."""
    tree = copy.deepcopy(tree)
    every = [one for one in containers(tree) if one]
    place = rng.choice(every)
    key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    how = rng.randrange(9)
    if how == 0:
        del place[key]
    elif how == 1:
        place[key] = rng.choice(SCALARS)
    elif how == 2:
        place[key] = rng.choice(NAMES)
    elif how == 3:
        place[key] = copy.deepcopy(rng.choice(every))
    elif how == 4:
        other = rng.choice(every)
        its = rng.choice(list(other) if isinstance(other, dict) else range(len(other)))
        if not _holds(place[key], other) and not _holds(other[its], place):
            place[key], other[its] = other[its], place[key]
    elif how == 5 and isinstance(place, dict):
        place[rng.choice(NAMES)] = place.pop(key)
    elif how == 6:
        if isinstance(place, list):
            place.insert(key, copy.deepcopy(place[key]))
        else:
            place[rng.choice(NAMES)] = copy.deepcopy(place[key])
    elif how == 7:
        kind = rng.choice(["named", "object", "made", "again", "tensor", "array", "keras", "dtype"])
        more = {
            "object": {"attributes": {}, "number": NEW},
            "made": {"arguments": [], "number": NEW},
        }
        place[key] = {kind: rng.choice([*NAMES, *SCALARS]), **more.get(kind, {})}
    else:
        value = place[key]
        if isinstance(value, bool | int | float):
            place[key] = rng.choice([-value, value + 1, value * 10**6, float(value)])
        elif isinstance(value, str):
            place[key] = rng.choice([value[:-1], value + "x", value.upper(), value[::-1]])
        else:
            place[key] = rng.choice([[], {}, [value], {"list": [value]}, {"x": value}])
    return tree


def _holds(tree, one):
    return any(container is one for container in containers(tree))


def description(model):
    encoder = Encoder()
    return json.loads(json.dumps(encoder.describe(model, "model"))), encoder.arrays


ADDED = {"mixing": None, "missing": "error", "memory": None}
"""Attributes, beside jitter_scale, that parts in files of version 0.1.0 do not have."""


def is_what_is_described(model, path):
    """True if a model is written as in the file, except for additions of constructors."""
    architecture, arrays = parts(path)
    found, values = description(model)
    for node in nodes(found):
        attributes = node.get("attributes", {})
        for name, value in ADDED.items():
            if name in attributes and attributes[name] == value:
                del attributes[name]
        scale = attributes.pop("jitter_scale", None)
        if scale is not None:
            del values[scale["variable"]]
    for node in nodes(architecture["model"]):
        if isinstance(attributes := node.get("attributes"), dict):
            attributes.pop("jitter_scale", None)
    here, said = shown(found), shown(architecture["model"])
    added = here - said
    if said - here or not all(one.startswith(("made ", "named ")) for one in added):
        return False
    known = all(any(_same(value, one) for one in arrays.values()) for value in values.values())
    return bool(added) or known


def shown(described):
    """Counts of every name, and of every flag and number of a part."""
    counts = Counter()
    for node in nodes(described):
        for key in ("named", "made", "object", "dtype"):
            if key in node and isinstance(node[key], str):
                counts[f"{key} {present_name(node[key])}"] += 1
        for name, value in node.get("attributes", {}).items() if "object" in node else ():
            if not isinstance(value, dict) and name != "_name":  # without one, it is the class'
                counts[f"{present_name(node['object'])}.{name} = {value!r}"] += 1
        if "trainable" in node and "number" in node:
            counts[f"trainable {node['trainable']}"] += 1
    return counts


def _same(one, other):
    return one.shape == other.shape and one.tobytes() == other.tobytes()


COUNTS = Counter()


def try_one(rng, folder):
    name = rng.choice(FILES)
    architecture, arrays = fixture(name)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        part = rng.choice(["model", "model", "model", "model", "model", None])
        if part is None:
            architecture = mutated(architecture, rng)
        elif isinstance(architecture, dict) and isinstance(architecture.get(part), dict | list):
            architecture[part] = mutated(architecture[part], rng) if architecture[part] else None
    if rng.random() < 0.1:
        text = bytearray(json.dumps(architecture).encode())
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        architecture = bytes(text)
    path = write(folder / "model", architecture, arrays)
    with watched() as events:
        try:
            model = gi.load(path)
        except LoadError as error:
            COUNTS["refused"] += 1
            assert "\n" not in str(error)
            model = None
    assert not events, (events, path)
    if model is not None:
        COUNTS["loaded"] += 1
        assert is_what_is_described(model, path)


def fuzz(number, folder, capsys):
    for name in FILES:  # so that what TensorFlow imports later is there
        assert is_what_is_described(gi.load(HERE / f"{name}.gi"), HERE / f"{name}.gi")
    COUNTS.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**63 - 1))
    def run(seed):
        try_one(random.Random(seed), folder)

    run()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    with capsys.disabled():
        print(
            f"\n{sum(COUNTS.values())} changed files: {COUNTS['refused']} refused, "
            f"{COUNTS['loaded']} loaded as they describe, nothing executed; memory grew by "
            f"{grown / 1024:.0f} MB",
            end="",
        )
    assert sum(COUNTS.values()) >= number
    return grown


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_some_changed_files(tmp_path, capsys):
    assert fuzz(30, tmp_path, capsys) < 500_000


@pytest.mark.longest
@pytest.mark.filterwarnings("ignore")
def test_two_thousand_changed_files(tmp_path, capsys):
    assert fuzz(2000, tmp_path, capsys) < 2_000_000


def test_the_watch_sees_what_files_may_not_do(tmp_path):
    with watched() as events:
        (tmp_path / "file").write_text("x")
        eval("1 + 1")
    assert {event for event, _ in events} == {"open", "compile", "exec"}
