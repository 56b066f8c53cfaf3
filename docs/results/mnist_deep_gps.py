"""Deep GPs of MNIST by the number of steps and the likelihood.

GPFLOW_GI_DATA=FOLDER python docs/results/mnist_deep_gps.py OUT.jsonl --posterior local \
    --likelihood multiclass --steps 10000

Trains a deep GP of `gpflow-gi experiment images --data mnist` with other steps or another
likelihood, and appends its measures to OUT.jsonl. FOLDER has mnist.npz; without it the file is
downloaded.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import gpflow

from gpflow_gi import __version__
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.experiments import images

LIKELIHOODS = {"softmax": gpflow.likelihoods.Softmax, "multiclass": gpflow.likelihoods.MultiClass}


def measured(posterior: str, likelihood: str, steps: int, seed: int) -> dict:
    """Measures of a deep GP, as in the experiment's results."""
    task = images.load("mnist", seed).of_pixels()
    own = images.OF_DEEP_GPS["mnist"]
    settings = replace(images.USUAL["mnist"], **own | {"steps": steps})
    with warnings.catch_warnings():
        # All pixels share one scale, and so those that are mostly black have a small deviation.
        warnings.filterwarnings("ignore", "X.* standard deviation")
        model = build_deep_gp(
            task.train.X,
            task.train.Y,
            inference=posterior,
            num_inducing=settings.num_inducing,
            likelihood=LIKELIHOODS[likelihood](10),
            seed=seed,
        )
    found = images.train_and_measure(model, task, settings, seed, progress=False)
    names = "log_density", "accuracy", "ece", "auroc", "further_auroc"
    return {
        "elbo": found["elbo"]["mean"],
        "elbo_error": found["elbo"]["standard_error"],
        **{name: found[name] for name in names},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--posterior", choices=("local", "global"), default="global")
    parser.add_argument("--likelihood", choices=tuple(LIKELIHOODS), default="softmax")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = vars(parser.parse_args())
    out = asked.pop("out")
    gpflow.config.set_default_float(images.FLOAT)
    gpflow.config.set_default_jitter(images.JITTER)
    start = time.perf_counter()
    line = asked | measured(**asked)
    line |= {"seconds": time.perf_counter() - start, "version": __version__}
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
