"""Files of models with something else in them than what was saved."""

import copy
import io
import json
import zipfile

import numpy as np

from gpflow_gi.persistence import archive

from .fixtures.make import HERE


def parts(path):
    """The architecture and the arrays of a file."""
    with zipfile.ZipFile(path) as file:
        architecture = json.loads(file.read(archive.ARCHITECTURE))
        with np.load(io.BytesIO(file.read(archive.PARAMETERS))) as numbers:
            return architecture, dict(numbers)


def write(path, architecture, arrays=None, *, numbers=None, compression=zipfile.ZIP_DEFLATED):
    """A file of an architecture, as it is or as text, and of arrays or bytes."""
    if isinstance(architecture, dict):
        architecture = json.dumps(numbered(architecture))
    if numbers is None:
        buffer = io.BytesIO()
        np.savez(buffer, **(arrays or {}))
        numbers = buffer.getvalue()
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr(archive.ARCHITECTURE, architecture)
        file.writestr(archive.PARAMETERS, numbers)
    return path


NEW = -1
"""The number of what was not in the file before."""


def numbered(architecture):
    """An architecture whose objects are counted from 0, as those of a file have to be."""
    architecture = copy.deepcopy(architecture)
    counted = {}
    for node in nodes(architecture.get("model")):
        if isinstance(node.get("number"), int | str):
            number, node["number"] = node["number"], len(counted)
            counted[(number, id(node)) if number == NEW else number] = node["number"]
        elif isinstance(node.get("again"), int | str):
            node["again"] = counted.get(node["again"], node["again"])
    return architecture


def fixture(name="deep-gp"):
    """The architecture and the arrays of a file that is known to load."""
    return parts(HERE / f"{name}.gi")


def nodes(described):
    """All dictionaries in a description, outer ones first."""
    if isinstance(described, dict):
        yield described
    if isinstance(described, dict | list):
        for one in described.values() if isinstance(described, dict) else described:
            yield from nodes(one)
