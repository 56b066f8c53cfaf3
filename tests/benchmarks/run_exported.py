"""Compile, check and time exported training steps with JAX alone.

python run_exported.py FOLDER [--steps 100]

Prints a JSON line for each step: the device, the seconds to compile, the largest differences from
the outputs that TensorFlow gave on a CPU, and the seconds of a step.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import jax
import numpy as np
from jaxlib import xla_client

LOSS_TOLERANCE = {"float64": 1e-8, "float32": 1e-2}
"""Relative. Matrix products of a GPU in float32 may have ten bits."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    failed = False
    for path in sorted(options.folder.glob("*.mlir")):
        result = run(path, options.steps)
        print(json.dumps(result), flush=True)
        failed |= not result["agrees"]
    sys.exit(failed)


def run(path, num_steps):
    """Compile one step, compare its outputs, and take some steps."""
    about = json.loads(path.with_suffix(".json").read_text())
    arrays = np.load(path.with_suffix(".npz"))
    device = jax.devices()[0]

    def inputs():
        # A step reuses the memory of the inputs that it replaces: each run needs its own.
        return [jax.device_put(arrays[f"in{i}"], device) for i in range(about["num_inputs"])]

    started = time.perf_counter()
    program = device.client.compile_and_load(
        path.read_bytes(), xla_client.DeviceList((device,)), xla_client.CompileOptions()
    )
    compile_seconds = time.perf_counter() - started

    outputs = program.execute(inputs())
    expected = [arrays[f"out{i}"] for i in range(1 + len(about["state"]))]
    loss, expected_loss = float(outputs[0]), float(expected[0])
    loss_difference = abs(loss - expected_loss) / abs(expected_loss)
    # Adam's first step has the size of the learning rate, whatever the gradient.
    differences = [
        np.abs(np.asarray(one, np.float64) - other) / about["learning_rate"]
        for one, other in zip(outputs[1:], expected[1:], strict=True)
    ]
    parameter_difference = max(float(np.max(one, initial=0.0)) for one in differences)
    tolerance = LOSS_TOLERANCE[str(expected[0].dtype)]
    agrees = np.isfinite(loss) and all(np.all(np.isfinite(one)) for one in outputs[1:])
    if about["is_deterministic"]:
        agrees &= loss_difference < tolerance

    def take(steps):
        state = inputs()
        for _ in range(steps):
            outputs = program.execute(state)
            for i, output in zip(about["state"], outputs[1:], strict=True):
                state[i] = output
        return float(outputs[0])

    take(3)
    started = time.perf_counter()
    last_loss = take(num_steps)
    seconds = (time.perf_counter() - started) / num_steps
    return {
        "name": about["name"],
        "device": device.device_kind,
        "jax": jax.__version__,
        "compile_seconds": round(compile_seconds, 3),
        "agrees": bool(agrees),
        "is_deterministic": about["is_deterministic"],
        "relative_difference_of_loss": loss_difference,
        "largest_difference_in_learning_rates": parameter_difference,
        "seconds_per_step": seconds,
        "loss_of_last_step": last_loss,
    }


if __name__ == "__main__":
    main()
