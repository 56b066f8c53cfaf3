"""Memory and time of a step of convolutional layers, against extracted patches.

python -m tests.benchmarks.convolution [--out FOLDER] [--fast]
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.convolution import Convolution
from gpflow_gi.core.random import fold_in

from .fresh_process import in_fresh_process, print_time_and_memory
from .interleaved import NOTES, Program, Times, measure, milliseconds, ratios, repeated
from .programs import adam, float_type, through_fit
from .report import Table, machine, parser, write

Step = Callable[[], tf.Tensor]


@dataclass(frozen=True)
class Size:
    """M inducing images, B images of data, and their height and width, with C channels in and out
    of the layer."""

    M: int
    B: int
    pixels: int
    C: int

    def __str__(self) -> str:
        return (
            f"{self.M} inducing images and {self.B} of data, {self.pixels} x {self.pixels} with "
            f"{self.C} channels, {self.C} filters of 3 x 3"
        )


FULL, SMALL = Size(500, 100, 32, 32), Size(5, 3, 6, 4)

OURS, PATCHES = "global", "global, by patches"
ALONE, BELOW = "factorised, data alone", "factorised, all images"
LAYERS = (OURS, PATCHES, BELOW, ALONE)
MOST_MEMORY = 3072
"""MB."""

NUM_IMAGES = 100
METHODS = ("factorised", "local", "factorised -> global", "global")
STEPS_IN_MEMORY = 3


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--memory", help=argparse.SUPPRESS)
    options = made.parse_args()
    size = SMALL if options.fast else FULL
    if options.memory is not None:
        with float_type("float32"):
            step = training_step(options.memory, size)
            print_time_and_memory(lambda: [step() for _ in range(STEPS_IN_MEMORY)])
            return
    with float_type("float64"):
        equal = check_equal_gradients()
    memory = {name: peak_memory(name, options.fast) for name in LAYERS}
    rounds, seconds, width, M = (2, 0.0, 2, 10) if options.fast else (7, 3.0, 16, 100)
    with float_type("float32"):
        steps = measure(
            {name: repeated(training_step(name, size)) for name in LAYERS},
            rounds=rounds,
            seconds=seconds,
        )
        networks = measure(
            {name: network(name, width, M) for name in METHODS},
            rounds=rounds,
            seconds=seconds / 2,
        )
    parts = [
        machine("gpflow", "tensorflow", "tf_keras", "numpy"),
        "### A layer",
        f"{size}, float32. A step draws the filters, takes the images through the layer, and "
        "computes the gradient of the KL divergence plus the mean square of the outputs, with "
        "respect to the layer's parameters and, as a layer below would need it, to the images; "
        f'Adam follows. "{PATCHES}" is the same layer with extracted patches for its moments and '
        "outputs, each image's extracted once, differentiated by TensorFlow. A factorised layer "
        "takes inducing images through as well where a layer above it is global.",
        equal,
        layer_table(memory, steps, options.fast),
        f"Peak memory is that of a fresh process that takes {STEPS_IN_MEMORY} steps; the memory "
        "before them, of TensorFlow, images, parameters and Adam, is part of it.",
        "### A network",
        f"build_resnet for images of 8 x 8 and 10 classes, {width} channels, M={M}, {NUM_IMAGES} "
        "images in every step, S=1, float32, the loop of gi.fit.",
        network_table(networks),
        NOTES,
    ]
    numbers = {
        "memory": memory,
        "seconds_per_step": {
            "layer": {name: own.to_dict() for name, own in steps.items()},
            "network": {name: own.to_dict() for name, own in networks.items()},
        },
    }
    write(options.out, "convolution", "Convolutions", parts, numbers)


class ByPatches(Convolution):
    """The direct method: regression on all patches of all images, and their products."""

    def moments(
        self, X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        patches = extracted(self, X.ref())
        weighted = tf.repeat(precision, self.num_locations)[:, None] * patches
        V = tf.reshape(V, [-1, V.shape[-1]])
        return tuple(tf.matmul(weighted, right, transpose_a=True) for right in (patches, V))

    def __call__(self, X: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.matmul(extracted(self, X.ref()), weights), [X.shape[0], -1])


@cache
def extracted(convolution: Convolution, X: Any) -> tf.Tensor:
    """:param X: a reference to a tensor of a graph. Its patches are computed once."""
    return convolution.patches(X.deref())


def new_layer(name: str, size: Size) -> gi.layers.Conv2DLayer:
    shape = (size.pixels, size.pixels, size.C)
    if name in (OURS, PATCHES):
        rng = np.random.default_rng(0)
        posterior = gi.posteriors.GlobalInducing(
            size.M, shape, pseudo_outputs=rng.standard_normal((size.M, *shape), np.float32)
        )
    else:
        posterior = gi.posteriors.Factorised()
    layer = gi.layers.Conv2DLayer(shape, size.C, 3, posterior)
    if name == PATCHES:
        layer.convolution = ByPatches(**asdict(layer.convolution))
    return layer


def new_images(name: str, size: Size) -> list[tf.Tensor]:
    """Inducing images, of which there are none where the layer has no use for them, and data."""
    rng = np.random.default_rng(1)
    numbers = [0 if name == ALONE else size.M, size.B]
    images = [rng.standard_normal((N, size.pixels**2 * size.C), np.float32) for N in numbers]
    return [tf.constant(array, gpflow.default_float()) for array in images]


def value_and_gradients(
    layer: gi.layers.Conv2DLayer, images: list[tf.Tensor], seed: tf.Tensor
) -> tuple[tf.Tensor, list[tf.Tensor], list[tf.Tensor]]:
    """The value [], and its gradients with respect to the layer's parameters and to the images."""
    variables = layer.trainable_variables
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([*variables, *images])
        given = layer.condition(images[0], None, seed)
        draw = given.draw(None, fold_in(seed, 1))
        value = given.kl()
        for X in images:
            if X.shape[0]:
                value += tf.reduce_mean(tf.square(draw(X)))
    of_parameters, of_images = tape.gradient(value, [variables, images])
    return value, list(of_parameters), [g for g in of_images if g is not None]


def training_step(name: str, size: Size) -> Step:
    """A step that changes the layer's parameters."""
    layer, images = new_layer(name, size), new_images(name, size)
    optimizer = adam()
    optimizer.build(layer.trainable_variables)

    @tf.function(autograph=False)
    def step(images: list[tf.Tensor], seed: tf.Tensor) -> tf.Tensor:
        value, gradients, of_images = value_and_gradients(layer, images, seed)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
        # All that is not returned in some form TensorFlow would leave out.
        return tf.add_n([value, *(tf.reduce_sum(gradient) for gradient in of_images)])

    seed = tf.constant([0, 1])
    return lambda: step(images, seed)


def check_equal_gradients() -> str:
    """The two ways to compute a global layer, in double precision.

    :raises RuntimeError: if a value or a gradient differs by more than rounding.
    """
    images, seed = new_images(OURS, SMALL), tf.constant([0, 1])
    ours, patches = (
        tf.nest.flatten(
            tf.function(value_and_gradients, autograph=False)(new_layer(name, SMALL), images, seed)
        )
        for name in (OURS, PATCHES)
    )
    worst = max(
        float(tf.reduce_max(tf.abs(a - b)) / tf.reduce_max(tf.abs(b)))
        for a, b in zip(ours, patches, strict=True)
    )
    if not worst < 1e-10:
        raise RuntimeError(f"The two routes differ by {worst:.1e}, in units of what they compute.")
    return (
        f"Value and gradients are those of the patches up to rounding, {worst:.0e} of their size "
        f"({SMALL}, float64)."
    )


def peak_memory(name: str, fast: bool) -> dict[str, Any]:
    return in_fresh_process("convolution", "--memory", name, *(["--fast"] if fast else []))


def layer_table(memory: dict[str, dict[str, Any]], steps: dict[str, Times], fast: bool) -> Table:
    goals = {} if fast else {OURS: f"under {MOST_MEMORY} MB"}
    rows = [
        [
            name,
            f"{memory[name]['peak_mb']:.0f}",
            f"{memory[name]['before_mb']:.0f}",
            *milliseconds(steps[name]),
            *ratios(steps[name], steps[OURS]),
            goals.get(name, ""),
        ]
        for name in LAYERS
    ]
    columns = ("layer", "peak MB", "MB before", "ms per step", "quartiles", "it / global", "cpu")
    return Table((*columns, "goal"), rows)


def network(method: str, width: int, num_inducing: int) -> Program:
    X = np.random.default_rng(0).normal(size=(NUM_IMAGES, 8, 8, 1))
    Y = np.arange(NUM_IMAGES)[:, None] % 10
    model = gi.architectures.build_resnet(
        X, Y, inference=method, width=width, num_inducing=num_inducing
    )
    return through_fit(model, model.check_data((X, Y)), num_samples=1)


def network_table(networks: dict[str, Times]) -> Table:
    rows = [
        [name, *milliseconds(own), *ratios(own, networks["factorised"])]
        for name, own in networks.items()
    ]
    return Table(("inference", "ms per step", "quartiles", "it / factorised", "cpu ratio"), rows)


if __name__ == "__main__":
    main()
