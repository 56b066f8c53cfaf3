"""Five layers of mean zero on the UCI sets: the bound, its KL by layer, and the test log density.

python docs/results/zero/five_layers.py OUT.jsonl [--sets NAME ...] [--starts NAME ...]
    [--inference NAME ...] [--steps NUMBER] [--split NUMBER] [--whitened] [--form NAME]

Appends a line of JSON for each run; runs that the file holds are not repeated.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.decomposition import PCA

import gpflow_gi as gi

SETS = ("yacht", "boston", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")
NUM_INDUCING, BATCH_SIZE, RATE = 100, 1000, 0.03
FORMS: dict[str, dict] = {
    "shared": {},
    "unshared": {"shared_precision": False},
    "full": {"inference": [*["full"] * 4, "global"]},
}
"""Hidden layers with global inducing points: one precision, one of each unit, or free Gaussians."""


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--starts", nargs="+", default=["targets", "inputs"])
    parser.add_argument("--inference", nargs="+", default=["global"])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--whitened", action="store_true", help="principal components as inputs")
    parser.add_argument("--form", choices=FORMS, default="shared", help="of global hidden layers")
    options = parser.parse_args()
    if options.form != "shared" and options.inference != ["global"]:
        parser.error("--form is for global inducing points only.")
    lines = options.out.read_text().splitlines() if options.out.is_file() else []
    done = [json.loads(line)["run"] for line in lines]
    for name, start, inference in product(options.sets, options.starts, options.inference):
        run = {"set": name, "start": start, "inference": inference}
        run |= {"steps": options.steps, "split": options.split}
        run |= {"whitened": True} if options.whitened else {}
        run |= {"form": options.form} if options.form != "shared" else {}
        if run not in done:
            record = {"run": run, **result(**run)}
            print(json.dumps(record), flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(record) + "\n")


def result(
    set: str,
    start: str,
    inference: str,
    steps: int,
    split: int,
    whitened: bool = False,
    form: str = "shared",
) -> dict:
    """Train a model, and measure it."""
    train, test = gi.datasets.uci(set, split)
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in (train.X, train.Y))
    X, X_test = of_x.transform(train.X), of_x.transform(test.X)
    Y = of_y.transform(train.Y)
    if whitened:
        # Of standard deviation one, without those that are zero to rounding.
        components = PCA(np.linalg.matrix_rank(X), whiten=True).fit(X)
        X, X_test = components.transform(X), components.transform(X_test)
    model = gi.architectures.build_deep_gp(
        X,
        Y,
        num_layers=5,
        num_inducing=NUM_INDUCING,
        mean_function="zero",
        hidden_start=start,
        **{"inference": inference, **FORMS[form]},
    )
    before = time.process_time()
    gi.fit(
        model,
        (X, Y),
        steps=steps,
        batch_size=BATCH_SIZE,
        num_samples=1,
        learning_rate=gi.training.LinearTail(RATE, steps),
        progress=False,
    )
    seconds = time.process_time() - before
    draws = 100 if len(X) < 2000 else 20
    bound = gi.bounds.estimate_elbo(model, (X, Y), draws, seed=0)
    rows = X_test, of_y.transform(test.Y)
    density = np.mean(model.predict_log_density(rows, 100, seed=0)) - np.log(of_y.scale[0])
    record = {
        "bound": bound.value / len(X),
        "standard_error": bound.standard_error / len(X),
        "log_density": float(density),
        "noise_variance": float(model.likelihood.variance.numpy()),
        "cpu_seconds": seconds,
    }
    if inference == "global":
        kl = np.mean([kl_of_layers(model, seed) for seed in range(20)], axis=0)
        record["kl"] = (kl / len(X)).tolist()
    return record


def kl_of_layers(model: gi.models.DeepGP, seed: int) -> list[float]:
    """KL(q || p) of each layer's z, in nats, for one draw of the layers below."""
    U, found = tf.convert_to_tensor(model.inducing_inputs), []
    for i, layer in enumerate(model.layers):
        q = layer.condition(U, None, tf.constant([seed, 3 * i]))
        if layer is model.layers[-1]:
            return [*found, float(q.kl())]
        draw, kl = q.draw_with_kl(None, tf.constant([seed, 3 * i + 1]))
        U, _ = draw.extend_inducing(U, tf.constant([seed, 3 * i + 2]))
        found.append(float(kl))
    raise AssertionError("the loop returns at the last layer")


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    main()
