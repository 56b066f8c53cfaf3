"""Files that would take more memory than they may, or whose parts do not fit: refused at load."""

import io
import json
import resource
import struct
import subprocess
import sys
import zipfile

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.persistence import LoadError, SaveError, archive, npz, sizes

from .files import NEW, fixture, nodes, write


def npy(shape, dtype="<f8", content=b""):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + content


def npz_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def refused(path, match, **arguments):
    with pytest.raises(LoadError, match=match) as error:
        gi.load(path, **arguments)
    assert "\n" not in str(error.value)


def test_arrays_are_those_that_numpy_writes():
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.float32(2.0),
        "d": np.array(["words", "é"]),
        "e": np.zeros((0, 3)),
        "f": np.array([True, False]),
        "g": np.arange(3, dtype=np.complex128),
        "10:model.layers[0].kernel": np.ones(1),
    }
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    found = npz.read_arrays(buffer.getvalue(), 10**6)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and found[name].shape == array.shape


@pytest.mark.parametrize(
    "content",
    [
        npy("(2,)", content=bytes(8)),
        npy("(1,)", content=bytes(16)),
        npy("(1000000, 1000000)"),
        npy("(99999999999999999, 99999999999999999)"),
        npy("(-1,)", content=bytes(8)),
        npy("(1,)", "|O8", bytes(8)),
        npy("(1,)", ">f8", bytes(8)),
        npy("(1,)", "|V8", bytes(8)),
        npy("(1,)", "<U0"),
        npy("(1,), 'x': __import__('os').abort()", content=bytes(8)),
        npy("(1,)", content=bytes(8))[:7],
        b"\x93NUMPY\1\0\xff\xff",
        b"hello",
        b"",
    ],
    ids=repr,
)
def test_arrays_of_another_size_or_type_than_they_say_are_damage(content, tmp_path):
    architecture, _ = fixture()
    refused(write(tmp_path / "model", architecture, numbers=npz_of(a=content)), "damaged")


def test_arrays_that_share_their_bytes_are_refused(tmp_path):
    content = bytearray(npz_of(**{f"a{i:03}": npy("(50,)", content=bytes(400)) for i in range(9)}))
    # Every entry of the list points to the first array.
    begin = content.index(b"PK\1\2")
    entry = (len(content) - 22 - begin) // 9
    for i in range(9):
        content[begin + i * entry + 42 : begin + i * entry + 46] = struct.pack("<I", 0)
    smaller = bytes(content[: begin // 9]) + bytes(content[begin:-6])
    smaller += struct.pack("<I", begin // 9) + b"\0\0"
    refused(write(tmp_path / "m", fixture()[0], numbers=bytes(smaller)), "not read|damaged")


def test_large_files_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "LEAST_BYTES", 10**5)
    architecture, arrays = fixture()
    write(tmp_path / "model", architecture, {"a": np.zeros(20_000)})
    refused(tmp_path / "model", r"parameters.npz in it would take 160\d+ bytes, and at most 100000")
    # The same in a file that holds as much is no bomb.
    write(
        tmp_path / "model",
        architecture,
        {**arrays, "a": np.zeros(20_000)},
        compression=zipfile.ZIP_STORED,
    )
    gi.load(tmp_path / "model")


def test_what_is_saved_is_not_taken_for_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "LEAST_BYTES", 10**4)
    Z = np.random.default_rng(0).normal(size=(90, 1))
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, gi.posteriors.LocalInducing(Z, 1))
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    gi.save(model, tmp_path / "model")
    gi.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b" " * (sizes.LARGEST_TEXT + 1), "would take"),
        (b"[" + b"0," * 1_100_000 + b"0]", "more than 500000 parts"),
        (b'{"a":' * 200 + b"0" + b"}" * 200, "nested more than 150 deep"),
        (b'"' + b"[" * 100, "damaged"),
        (b"[" * 100, "damaged"),
        (b"\xff\xfe", "damaged"),
        (b"9" * 5000, "damaged"),
        (b"[]", "damaged"),
        (b"null", "damaged"),
        (b"NaN", "damaged"),
    ],
    ids=lambda value: repr(value[:12]),
)
def test_texts(text, match, tmp_path):
    refused(write(tmp_path / "model", text), match)


def test_what_refers_to_itself_again_and_again_is_refused(tmp_path):
    """Sums of twice the same sum: 25 of them stand for thirty million kernels."""
    architecture, arrays = fixture()
    kernel = next(n for n in nodes(architecture["model"]) if "kernel" in n.get("attributes", {}))
    node = kernel["attributes"]["kernel"]
    for i in range(25):
        node = {
            "object": "gpflow.kernels.base:Sum",
            "attributes": {
                "_name": "sum",
                "_active_dims": {"slice": [None, None, None]},
                "kernels": {"list": [node, {"again": f"sum {i - 1}" if i else node["number"]}]},
            },
            "number": f"sum {i}",
        }
    kernel["attributes"]["kernel"] = node
    refused(write(tmp_path / "model", architecture, arrays), "more than 500000 parts")


def test_what_is_a_part_of_itself_is_refused(tmp_path):
    architecture, arrays = fixture()
    layers = architecture["model"]["attributes"]["layers"]["list"]
    layers[1]["attributes"]["kernel"] = {"again": layers[1]["number"]}
    refused(write(tmp_path / "model", architecture, arrays), "a part that contains itself")


def test_an_array_is_used_once(tmp_path):
    architecture, arrays = fixture()
    parameters = [n["parameter"] for n in nodes(architecture["model"]) if "parameter" in n]
    for node in nodes(architecture["model"]):
        if node.get("parameter") == parameters[1]:
            node["parameter"] = parameters[0]
    refused(write(tmp_path / "model", architecture, arrays), "or uses it twice")


def test_arrays_that_would_multiply_are_refused(tmp_path):
    architecture, arrays = fixture()
    node = next(n for n in nodes(architecture["model"]) if "parameter" in n)
    arrays[node["parameter"]] = np.zeros((10_000, 1))
    arrays["scale"] = np.ones(10_000)
    node["transform"] = {
        "made": "tensorflow_probability.python.bijectors.scale:Scale",
        "arguments": [["scale", {"array": "scale"}]],
        "number": NEW,
    }
    refused(write(tmp_path / "m", architecture, arrays), "a parameter in it would have more than")


BOMBS = """
import resource, sys
import gpflow_gi as gi
from gpflow_gi.persistence import LoadError
small, *bombs = sys.argv[1:]
gi.load(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for bomb in bombs:
    try:
        gi.load(bomb)
    except LoadError:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def write_bomb(bomb, path):
    architecture, arrays = fixture("images" if bomb in ("keras", "convolution") else "deep-gp")
    if bomb == "blanks":
        write(path, json.dumps(architecture)[:-1] + " " * 3 * 10**8 + "}", arrays)
    elif bomb == "zeros":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(archive.ARCHITECTURE, json.dumps(architecture))
            with file.open(archive.PARAMETERS, "w", force_zip64=True) as member:
                for _ in range(1000):
                    member.write(bytes(10**6))
    elif bomb == "header":
        write(path, architecture, numbers=npz_of(a=npy("(100000, 100000)")))
    elif bomb == "keras":
        dense = {"units": 10**9, "dtype": "float64"}
        layer = {"module": "keras.layers", "class_name": "Dense", "config": dense}
        layer |= {"registered_name": None, "build_config": {"input_shape": [None, 10**3]}}
        first = next(n for n in nodes(architecture["model"]) if "keras" in n)
        first["keras"] = layer
        write(path, architecture, arrays)
    else:
        for node in nodes(architecture["model"]):
            if node.get("tuple") == [4, 4, 2]:
                node["tuple"] = [4_000_000, 4_000_000, 2]
        write(path, architecture, arrays)


@pytest.mark.longest
def test_memory_is_bounded(tmp_path):
    """In kilobytes: what loading any of them takes beyond what a small model takes."""
    bombs = [tmp_path / name for name in ("blanks", "zeros", "header", "keras", "convolution")]
    for path in bombs:
        write_bomb(path.name, path)
        assert path.stat().st_size < 4 * 10**6
    command = [sys.executable, "-c", BOMBS, _fixture_path(), *bombs]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-1000:]
    taken = [int(line) for line in run.stdout.splitlines()]
    assert len(taken) == len(bombs) and max(taken) < 100_000


def _fixture_path():
    from .fixtures.make import HERE

    return HERE / "deep-gp.gi"


def test_a_measure_of_memory_is_there():
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 10_000


# Parts that do not fit


def changed_array(place, change):
    def make(architecture, arrays):
        (name,) = [name for name in arrays if name.endswith(f":{place}")]
        arrays[name] = change(arrays[name])

    return make


def without(*keys):
    def make(architecture, arrays):
        node = architecture["model"]
        for key in keys[:-1]:
            node = node["attributes"][key] if isinstance(key, str) else node["list"][key]
        del node["attributes"][keys[-1]]

    return make


def with_value(value, *keys):
    def make(architecture, arrays):
        node = architecture["model"]
        for key in keys[:-1]:
            node = node["attributes"][key] if isinstance(key, str) else node["list"][key]
        node["attributes"][keys[-1]] = value

    return make


MISFITS = {
    "no layers": with_value({"list": []}, "layers"),
    "layers that are none": with_value({"list": [1]}, "layers"),
    "no list of layers": with_value(3, "layers"),
    "no kernel": without("layers", 1, "kernel"),
    "no posterior": without("layers", 1, "posterior"),
    "no likelihood": without("likelihood"),
    "no num_data": without("num_data"),
    "num_data is text": with_value("many", "num_data"),
    "num_data is negative": with_value(-1, "num_data"),
    "num_samples is true": with_value(True, "num_samples"),
    "M": with_value(4, "layers", 1, "posterior", "num_inducing"),
    "P": with_value(3, "layers", 1, "output_dim"),
    "precision": with_value("diagonal", "layers", 2, "posterior", "precision"),
    "inducing inputs": changed_array("model.inducing_inputs", lambda a: a[:-1]),
    "columns": changed_array("model.inducing_inputs", lambda a: a[:, :1]),
    "images": changed_array("model.inducing_inputs", lambda a: a[:, None]),
    "lengthscales": changed_array("model.layers[1].kernel.lengthscales", lambda a: np.ones(7)),
    "pseudo-outputs": changed_array("model.layers[1].posterior.pseudo_outputs", lambda a: a[:, :1]),
    "pseudo-precision": changed_array(
        "model.layers[2].posterior.pseudo_precision", lambda a: a[1:]
    ),
    "noise": changed_array("model.likelihood.variance", lambda a: np.zeros(7)),
    "dtype": changed_array("model.inducing_inputs", lambda a: a.astype(np.float32)),
    "integers": changed_array("model.inducing_inputs", lambda a: a.astype(np.int64)),
    "complex": changed_array("model.inducing_inputs", lambda a: a.astype(complex)),
    "another object": with_value("words", "likelihood"),
    "a likelihood for a kernel": lambda architecture, _: architecture["model"]["attributes"].update(
        likelihood=architecture["model"]["attributes"]["layers"]["list"][0]
    ),
    "a mean function": with_value(1.5, "layers", 0, "mean_function"),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_parts_that_do_not_fit(misfit, tmp_path):
    architecture, arrays = fixture()
    MISFITS[misfit](architecture, arrays)
    refused(write(tmp_path / "model", architecture, arrays), "cannot be loaded")


# Advice that is not the file's


@pytest.mark.parametrize(
    "version", ["1.0'; touch /tmp/owned; '", "99.0\nrm", "$(id)", "9" * 100, None, 3, ["1"], ""]
)
def test_the_version_in_advice_is_a_version(version, tmp_path):
    architecture, arrays = fixture()
    architecture["format"] = archive.FORMAT + 1
    architecture["versions"]["gpflow_gi"] = version
    refused(write(tmp_path / "model", architecture, arrays), "install a newer one")
    architecture["format"] = archive.FORMAT
    architecture["model"]["object"] = "os:system"
    architecture["versions"]["gpflow"] = version
    refused(write(tmp_path / "model", architecture, arrays), "gpflow of an unknown version")


def test_names_in_messages_are_short_and_plain(tmp_path):
    for name in ("os:\x1b[31m", "os:" + "x" * 10_000, "a b:c", "", 3, {"a": 1}):
        architecture, arrays = fixture()
        architecture["model"]["object"] = name
        with pytest.raises(LoadError) as error:
            gi.load(write(tmp_path / "model", architecture, arrays))
        said = str(error.value).removeprefix(str(tmp_path))
        assert said.isprintable() and len(said) < 900


def test_a_model_beyond_the_limits_is_not_saved(tmp_path, monkeypatch):
    model = gi.load(_fixture_path())
    monkeypatch.setattr(sizes, "MOST_PARTS", 20)
    with pytest.raises(SaveError, match="more than 20 parts"):
        gi.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
