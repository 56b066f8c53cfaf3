"""Deep GPs after KL warm-ups of several lengths: the bound, and its KL by layer.

python docs/results/zero/warm_up.py OUT.jsonl [--sets NAME ...] [--methods NAME ...]
    [--steps NUMBER] [--warmups NUMBER ...] [--seeds NUMBER ...]

The `standard` budget on the first split, but for these numbers. Appends a line of JSON for each
run; runs that the file holds are not repeated.
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import tensorflow as tf
from five_layers import kl_of_layers

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.train import build, inducing_for, train_by


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["energy"])
    parser.add_argument("--methods", nargs="+", default=["dgp-global-2"])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--warmups", type=int, nargs="+", default=[0, 1500])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.is_file() else []
    done = [json.loads(line)["run"] for line in lines]
    names = "set", "method", "seed", "kl_warmup"
    for values in product(options.sets, options.methods, options.seeds, options.warmups):
        run = {**dict(zip(names, values, strict=True)), "steps": options.steps}
        if run not in done:
            record = {"run": run, **result(**run)}
            print(json.dumps(record), flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(record) + "\n")


def result(set: str, method: str, seed: int, kl_warmup: int, steps: int) -> dict:
    """Train a model, and measure it."""
    train, test = gi.datasets.uci(set, 0)
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in (train.X, train.Y))
    X, Y = of_x.transform(train.X), of_y.transform(train.Y)
    budget = replace(STANDARD, steps=steps, kl_warmup=kl_warmup, batch_size=1000)
    model = build(METHODS[method], X, Y, inducing_for(X, budget.num_inducing), seed)
    before = time.process_time()
    train_by(budget, model, (X, Y), seed=seed)
    seconds = time.process_time() - before
    bound = gi.bounds.estimate_elbo(model, (X, Y), 20, seed=0)
    rows = of_x.transform(test.X), of_y.transform(test.Y)
    density = np.mean(model.predict_log_density(rows, 100, seed=0)) - np.log(of_y.scale[0])
    record = {
        "bound": bound.value / len(X),
        "standard_error": bound.standard_error / len(X),
        "log_density": float(density),
        "noise_variance": float(model.likelihood.variance.numpy()),
        "cpu_seconds": seconds,
    }
    if method.startswith("dgp-global"):
        kl = np.mean([kl_of_layers(model, seed) for seed in range(10)], axis=0)
        record["kl"] = (kl / len(X)).tolist()
    return record


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    main()
