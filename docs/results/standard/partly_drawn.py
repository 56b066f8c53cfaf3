"""Inducing inputs that are drawn in part, after a trained deep GP with local inducing points.

python docs/results/standard/partly_drawn.py OUT.jsonl [--sets NAME ...]

Two layers are trained with local inducing points. The second layer's inducing inputs are then c + a
u, with u those drawn through the first layer, a learned c, and a factor a of each coordinate of
each point. At a = 0 this is the local posterior, with rows that share the draws of u; a = 1 with
c = 0 is a global one. Training goes on at a = 0 ("fixed") or with a learned a from there, at the
rate 0.01 without KL warm-up, with S = 1 and S = 4 samples; and of the local model, with S = 1.
"Fixed" minus local is the price of shared draws in training, "learned" minus "fixed" what
correlated layers gain.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import gpflow
import numpy as np
from drawn_inputs import MORE, bound, drawn, trained_local

from gpflow_gi.benchmark.train import train_by


def run(name: str) -> dict[str, float | str]:
    """Bounds per row of the first split, and the mean size of the learned factor."""
    local, data = trained_local(name)
    result: dict[str, float | str] = {"set": name, "local": bound(local, data)}
    for S in (1, 4):
        for word in ("fixed", "learned"):
            model = drawn(local, 0.0)
            factor = model.layers[1].posterior.factor
            gpflow.set_trainable(factor, word == "learned")
            train_by(replace(MORE, num_samples=S), model, data, seed=0)
            result[f"{word}, S = {S}"] = bound(model, data)
            if word == "learned":
                result[f"mean factor, S = {S}"] = float(np.abs(factor.numpy()).mean())
    train_by(MORE, local, data, seed=0)
    result["local, trained on"] = bound(local, data)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["concrete", "wine", "energy"])
    options = parser.parse_args()
    for name in options.sets:
        with options.out.open("a") as file:
            file.write(json.dumps(run(name)) + "\n")
