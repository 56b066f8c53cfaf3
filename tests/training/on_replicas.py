"""Results of fit on several devices, as JSON for test_replicas.py.

This is a program, since a process must configure several logical CPUs before TensorFlow starts.

    python -m tests.training.on_replicas FOLDER NAME ...
"""

import contextlib
import json
import sys
from pathlib import Path

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.objectives import Elbo
from gpflow_gi.training.learning_rate import make_optimizer
from gpflow_gi.training.minibatches import Minibatches
from gpflow_gi.training.replicas import Replicas
from gpflow_gi.training.steps import TrainingSteps

from ..builders import bounds
from .models import FailingModel, LinearModel, linear_data, noisy, svgp, train, values

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 3
)
TWO, THREE = (
    tf.distribute.MirroredStrategy(
        [f"CPU:{i}" for i in range(num)], tf.distribute.ReductionToOneDevice()
    )
    for num in (2, 3)
)
ROWS = 21
DATA = linear_data(ROWS)


def made(strategy, build, *args):
    with contextlib.nullcontext() if strategy is None else strategy.scope():
        return build(*args)


def noiseless(name):
    """A model whose bound is exact, so that it does not matter who draws."""
    if name == "svgp":
        return svgp(ROWS)
    return gi.architectures.build_deep_gp(*DATA, num_layers=1, num_inducing=7, seed=0)


def deep_gp():
    return gi.architectures.build_deep_gp(*DATA, num_layers=2, num_inducing=7, seed=0)


def numbers(model):
    return {path: np.asarray(value).tolist() for path, value in values(model).items()}


def message(function, *args, **kwargs):
    """The name and text of the exception, of which there must be one."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def same_parameters(folder):
    for name, batch_size in (("svgp", 7), ("gp", None)):
        for strategy in (None, TWO):
            model = made(strategy, noiseless, name)
            rate = {"learning_rate": lambda step: 0.05 / tf.cast(step + 1, tf.float64) ** 0.5}
            record = train(model, DATA, steps=50, batch_size=batch_size, strategy=strategy, **rate)
            yield {
                "case": [name, batch_size],
                "parameters": numbers(model),
                "bound": record.reports[-1].bound,
                "steps": [report.step for report in record.reports],
                "rates": [report.learning_rate for report in record.reports],
            }


def augmentation(folder):
    """Rows are changed before they are shared: they are those of one device."""
    for strategy in (None, TWO):
        model = made(strategy, noiseless, "gp")
        record = train(model, DATA, steps=20, batch_size=7, strategy=strategy, augment=noisy)
        yield {
            "parameters": numbers(model),
            "bounds": [(report.bound, report.objective) for report in record.reports],
        }


def with_prior():
    model = svgp(ROWS)
    model.kernel.variance.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(5.0))
    return model


def steps_of(model, strategy, batch_size):
    replicas, seed = Replicas(strategy), as_seed(3)
    data = tuple(tf.constant(array) for array in DATA)
    variables = list(model.trainable_variables)
    optimizer, schedule = made(strategy, make_optimizer, None, None, variables)
    return TrainingSteps(
        model,
        Elbo(),
        None,
        variables,
        optimizer,
        schedule,
        Minibatches(data, batch_size, seed, num_replicas=replicas.num),
        replicas,
        kl_warmup=4,
        jit_compile=False,
    )


def objective(folder):
    """One step's objective; 2 and 3 replicas divide none of 20, 7 and 5 rows, or not both."""
    for batch_size in (None, 20, 7, 5, 3):
        for strategy in (None, TWO, THREE):
            steps = steps_of(made(strategy, with_prior), strategy, batch_size)
            loss, gradients, terms = steps.evaluate(1)
            parts = steps.parts_of(1)
            yield {
                "replicas": len(parts),
                "loss": float(loss),
                "terms": terms.numpy().tolist(),
                "gradients": [gradient.numpy().ravel().tolist() for gradient in gradients],
                "rows": np.concatenate([part.batch[0] for part in parts]).tolist(),
                "targets": np.concatenate([part.batch[1] for part in parts]).tolist(),
                "sizes": [len(part.batch[0]) for part in parts],
                "fractions": [part.fraction for part in parts],
            }


def draws(folder):
    """The hidden layer of a deep GP in each replica, at the same rows, and whose draws count."""
    model = made(TWO, deep_gp)
    steps = steps_of(model, TWO, 5)
    parts = steps.parts_of(2)
    X = parts[0].batch[0]
    hidden = []
    for part in parts:
        propagated = model.propagate(X, 50, fold_in(part.seed, 0))
        hidden.append(propagated.rows(X, fold_in(part.seed, 1)).numpy().tolist())
    _, _, terms = steps.evaluate(2)
    yield {
        "hidden": hidden,
        "terms": terms.numpy().tolist(),
        "of each": [[float(t) for t in model.bound_terms(p.batch, seed=p.seed)] for p in parts],
        "fractions": [part.fraction for part in parts],
        "seeds": [part.seed.numpy().tolist() for part in parts],
        "one device's": steps_of(deep_gp(), None, 5).parts_of(2)[0].seed.numpy().tolist(),
        "weight": float(Elbo().kl_weight(2, 4)),
    }


def deep(folder):
    """The bound of a deep GP after training, for several seeds."""
    for strategy in (None, TWO):
        for seed in range(3):
            model = made(strategy, deep_gp)
            start = bounds(model, DATA, 20, 20).tolist() if seed == 0 else None
            rate = tf_keras.optimizers.schedules.CosineDecay(0.05, 150)
            train(model, DATA, steps=150, seed=seed, strategy=strategy, learning_rate=rate)
            yield {"start": start, "end": bounds(model, DATA, 20, 20).tolist()}


class FailsInLastRow(FailingModel):
    """Fails like its parent, but only where the row with X = 1 is."""

    def bound_terms(self, data, num_samples=None, seed=None):
        rest, kl = super().bound_terms(data, num_samples, seed)
        fine = -tf.convert_to_tensor(self.level) - 0.5 * self.other**2
        return tf.where(tf.reduce_any(data[0] == 1.0), rest, fine), kl


def failures(folder):
    for fails, start, raises in (
        ("bound", 12.5, False),
        ("gradient", 13.0, False),
        ("bound", 12.5, True),
    ):
        for strategy in (None, TWO):
            model = made(strategy, FailsInLastRow, start, fails, False, raises)
            model.num_data = 3
            optimizer = made(strategy, tf_keras.optimizers.SGD, 1.0)
            data = (np.arange(3.0)[:, None] / 2.0, np.zeros((3, 1)))
            kind, text = message(
                train, model, data, steps=100, optimizer=optimizer, strategy=strategy
            )
            copies = model.level.unconstrained_variable
            if strategy is not None:
                copies = strategy.experimental_local_results(copies)
                assert len(copies) == 2
                assert float(copies[0]) == float(copies[1])
            yield {
                "kind": kind,
                "text": text,
                "parameters": numbers(model),
                "iterations": int(optimizer.iterations.numpy()),
            }


def resumption(folder):
    """Interrupted, resumed, and without a stop; Monte Carlo noise, minibatches, warm-up."""
    settings = {"batch_size": 5, "kl_warmup": 10, "strategy": TWO, "seed": 4}

    def interrupt(report):
        if report.step >= 12:
            raise KeyboardInterrupt

    whole, model = made(TWO, LinearModel, ROWS), made(TWO, LinearModel, ROWS)
    train(whole, DATA, steps=30, **settings)
    try:
        train(model, DATA, steps=30, checkpoint_dir=folder, callbacks=[interrupt], **settings)
    except KeyboardInterrupt:
        pass
    saved = sorted(path.name for path in folder.glob("*.npz"))
    resumed = made(TWO, LinearModel, ROWS)
    record = train(resumed, DATA, steps=30, checkpoint_dir=folder, **settings)
    yield {
        "saved": saved,
        "resumed": numbers(resumed),
        "whole": numbers(whole),
        "first": numbers(model),
        "step": record.step,
        "on one device": message(
            train,
            LinearModel(ROWS),
            DATA,
            steps=40,
            checkpoint_dir=folder,
            **{**settings, "strategy": None},
        ),
    }


def fixed_parameters(folder):
    model = made(TWO, LinearModel, ROWS)
    gpflow.set_trainable(model.noise, False)
    gpflow.set_trainable(model.scale, False)
    gpflow.set_trainable(model.scale, True)
    train(model, DATA, steps=3, strategy=TWO)
    yield {"fitted": numbers(model), "noise": model.noise.trainable, "scale": model.scale.trainable}


def saved_model(folder):
    """A model trained by a strategy is saved like any other."""
    model = made(TWO, noiseless, "gp")
    train(model, DATA, steps=5, strategy=TWO)
    gi.save(model, folder / "model")
    loaded = gi.load(folder / "model")
    yield {"saved": float(model.elbo(DATA)), "loaded": float(loaded.elbo(DATA))}
    train(loaded, DATA, steps=1)


def refusals(folder):
    inside, outside = made(TWO, LinearModel, ROWS), LinearModel(ROWS)
    workers = tf.distribute.MultiWorkerMirroredStrategy()
    with TWO.scope():
        in_scope = message(train, inside, DATA, steps=1, strategy=TWO)
    yield {
        "in scope": in_scope,
        "outside": message(train, outside, DATA, steps=1, strategy=TWO),
        "other": message(train, inside, DATA, steps=1, strategy=THREE),
        "none": message(train, inside, DATA, steps=1),
        "optimizer": message(
            train, inside, DATA, steps=1, strategy=TWO, optimizer=tf_keras.optimizers.SGD(0.1)
        ),
        "few rows": message(train, inside, DATA, steps=1, strategy=TWO, batch_size=1),
        "jit": message(train, inside, DATA, steps=1, strategy=TWO, jit_compile=True),
        "num_data": message(train, made(TWO, svgp, None), DATA, steps=1, strategy=TWO),
        "natural": message(
            train,
            made(TWO, svgp, ROWS),
            DATA,
            steps=1,
            strategy=TWO,
            optimizer=gpflow.optimizers.NaturalGradient(0.1),
        ),
        "workers' seed": message(train, inside, DATA, steps=1, strategy=workers, seed=None),
        "workers' checkpoints": message(
            train, inside, DATA, steps=1, strategy=workers, checkpoint_dir=folder
        ),
        "still good": message(train, inside, DATA, steps=1, strategy=TWO),
    }


def single_precision(folder):
    """Terms of 64 bits beside gradients of 32, which workers send each other by type."""
    gpflow.config.set_default_float(np.float32)
    for strategy in (None, tf.distribute.MultiWorkerMirroredStrategy()):
        model = made(strategy, svgp, ROWS)
        train(model, DATA, steps=5, batch_size=7, strategy=strategy)
        yield numbers(model)


if __name__ == "__main__":
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    answers = {name: list(globals()[name](folder)) for name in names}
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
