"""Removal of a traced graph from libraries' lists, which would keep some megabytes per run."""

from contextlib import suppress
from typing import Any

import tensorflow_probability as tfp


def forget_graph(function: Any) -> None:
    """Remove a traced function's graph from lists of TensorFlow and TensorFlow Probability.

    Both have a list for the whole process that holds tensors of the graph and so keeps the graph,
    its constants and its variables. Neither list is needed once the gradients are in the graph.

    :param function: a concrete function that will not be differentiated again.
    """
    # Both lists are internal. If another version does not have them, only memory is lost.
    with suppress(ImportError, AttributeError):
        _forget_gradients(function.graph)
    with suppress(AttributeError):
        _forget_transforms(function.graph)


def forget_captured(function: Any) -> None:
    """Have a traced function let go of the variables that it was traced with.

    :param function: concrete, to be called with others by ``set_external_captures``.
    """
    function.set_external_captures([])
    function.graph.variables = []
    with suppress(AttributeError):  # internal; a variable's memory is all that it holds
        captures = function.graph._function_captures
        captures.reset_captures([], [])


def _forget_gradients(graph: Any) -> None:
    """``tf.custom_gradient`` registers a gradient for ever each time that it is traced.

    Gradients of functions that the graph calls stay: others may call them too.
    """
    from tensorflow.python.framework import ops

    registry = ops.gradient_registry._registry
    definition = graph.as_graph_def()
    functions = {one.signature.name: one for one in definition.library.function}
    waiting = [definition.node]
    while waiting:
        for node in waiting.pop():
            name = node.attr["_gradient_op_type"].s.decode() if node.attr else ""
            # TensorFlow's own gradients stay.
            if name.startswith("CustomGradient-"):
                registry.pop(name, None)
            if node.op not in ("PartitionedCall", "StatefulPartitionedCall"):
                for attribute in node.attr.values():  # bodies of loops, and branches
                    inner = functions.pop(attribute.func.name, None)
                    waiting += [] if inner is None else [inner.node_def]


def _forget_transforms(graph: Any) -> None:
    """Empty the caches of bijectors: a cached result keeps the graph of its argument."""
    remembered = tfp.bijectors.Bijector._cache.storage
    for key in list(remembered):
        tensor = key()
        if _is_in(graph, getattr(tensor, "graph", None)):
            remembered.pop(key, None)


def _is_in(graph: Any, inner: Any) -> bool:
    """True if a graph is another one or one of its loops and branches, at any depth."""
    while inner is not None and inner is not graph:
        inner = getattr(inner, "outer_graph", None)
    return inner is not None
