"""Training a model: :func:`fit`."""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ..core.random import Seed
from ..objectives.objective import Objective
from .convergence import NoRise, stop_rule
from .narrow_rows import NarrowRows
from .record import ConvergenceWarning, FitRecord, Report
from .run import Run
from .settings import Settings, objective_of


def fit(
    model: Any,
    data: tuple[Any, Any] | tf.data.Dataset | NarrowRows,
    *,
    steps: int,
    batch_size: int | None = None,
    optimizer: Any = None,
    learning_rate: Any = None,
    num_samples: int | None = None,
    kl_warmup: int = 0,
    until_converged: bool | NoRise = False,
    objective: Objective | None = None,
    temperature: float = 1.0,
    augment: Callable[[tf.Tensor, tf.Tensor], Any] | None = None,
    callbacks: Sequence[Callable[[Report], Any]] | None = (),
    progress: bool = True,
    checkpoint_dir: str | os.PathLike[str] | None = None,
    jit_compile: bool = False,
    strategy: Any = None,
    seed: Seed = 0,
    recover: bool = True,
) -> FitRecord:
    """Maximise the model's variational bound, plus the log prior density of its parameters.

    Steps run in a compiled loop. The loop stops for a report about once a second, or after each
    fiftieth of the steps if that is sooner: the report is added to the record, the progress bar
    shows it, and the callbacks are called. Each step is a function of the parameters, the optimizer
    state, `seed` and the step's number alone, so the same call gives the same parameters, however
    often it stopped. (GPflow's SVGP with a Monte Carlo likelihood draws noise of its own.)

    With :mod:`gpflow.monitor`, use a period of one report::

        monitor = gpflow.monitor.Monitor(gpflow.monitor.MonitorTaskGroup(tasks, period=1))
        fit(model, data, steps=1000, callbacks=[lambda report: monitor(report.step)])

    An example:

    >>> import numpy as np
    >>> from gpflow_gi.architectures import build_deep_gp
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_deep_gp(X, np.sign(X), num_inducing=10)
    >>> record = fit(model, (X, np.sign(X)), steps=20, kl_warmup=5, progress=False)
    >>> record.reports[-1].step
    20
    >>> record.reports[-1].bound > record.reports[0].bound
    True

    :param model: :class:`gpflow_gi.models.DeepGP` or another model with ``bound_terms(data,
        num_samples, seed)``, or :class:`gpflow.models.SVGP`. It is trained in place.
    :param data: X [N, D], or images [N, H, W, C], and Y [N, Q]; cast to
        ``gpflow.default_float()``. Or a ``tf.data.Dataset`` of batches (X, Y) of equal shapes, one
        for each step, for data that do not fit into memory; the model's `num_data` is then the
        number of all rows. A dataset that ends is iterated again. Shuffling is the dataset's own::

            batches = rows.shuffle(10_000, seed=0).batch(256, drop_remainder=True).prefetch(2)
            fit(model, batches, steps=1000)

        `batch_size`, `checkpoint_dir`, `jit_compile` and `strategy` are refused with it.
        Or :class:`~gpflow_gi.training.NarrowRows`, of which only the rows of a step are cast.
    :param steps: total number of steps, at most. A resumed run takes the missing ones.
    :param batch_size: rows per step, drawn without replacement; each epoch drops the remainder.
        None, or N and above, for all rows.
    :param optimizer: an optimizer from ``gpflow.keras.tf_keras.optimizers``; None for a new Adam.
        Pass one for other settings, or to continue with its state in a later call.
    :param learning_rate: a number, a Keras ``LearningRateSchedule``, or a callable from the step
        ([], int64, counting from 0) to the rate, in TensorFlow operations. It replaces the
        optimizer's own rate. None keeps that rate; it is 0.01 if `optimizer` is None.
    :param num_samples: samples per step, S; None for the model's own number.
    :param kl_warmup: number of steps over which the weight of the KL term rises linearly to 1:
        step t, counting from 0, has weight min((t + 1) / kl_warmup, 1). Until then the objective is
        not a bound, and progress does not call it ELBO.
    :param until_converged: True to end the run when, in the last third of its steps, the objective
        has risen by no more than its noise or by less than a nat. This takes at least 600 steps,
        and KL warm-up must be over before that third. A :class:`~gpflow_gi.training.NoRise` for
        another rule. The record then has ``stopped="converged"``. The decision depends on the
        numbers of training alone, not on the speed of the machine.
    :param objective: the objective to maximise: :class:`~gpflow_gi.objectives.Elbo` by default,
        another of :mod:`gpflow_gi.objectives`, or your own subclass of
        :class:`~gpflow_gi.objectives.Objective`. Progress and record call only the first one ELBO.
        For the others they also show the ELBO, where the model has one.
    :param temperature: T; short for ``objective=TemperedBound(T)`` if it is not 1.
    :param augment: short for ``objective=AugmentedBound(augment, temperature=temperature)``:
        :func:`gpflow_gi.training.augmented`, or another function of rows and a seed.
    :param callbacks: functions to call with every :class:`~gpflow_gi.training.Report`; None for
        none. If one returns True or raises :class:`~gpflow_gi.training.Stop`, the run ends after
        that report: model, record and checkpoint are as at the end of any run, and a later call
        with the same `checkpoint_dir` goes on from there.
    :param progress: True to show progress on standard error: a bar in a terminal or notebook, a
        few lines elsewhere.
    :param checkpoint_dir: a folder for model, optimizer, step and record, saved every minute and at
        the end. If it already holds a run, that run is resumed, and ends with the same parameters
        as without a stop. A finished run is returned at once. The two latest checkpoints are kept,
        as files ``gpflow_gi-checkpoint-STEP.npz``; other files in the folder are not changed. The
        model of a resumed run must be built as the first time, with the same objective, and the
        same code of functions that have no name.
    :param jit_compile: True to compile the loop with XLA. On a CPU that is usually slower.
    :param strategy: a ``tf.distribute.MirroredStrategy`` or ``MultiWorkerMirroredStrategy``. The
        model, and `optimizer` if given, must be built in its scope (``with strategy.scope():``).
        Its replicas share the rows of each step. Each draws its own samples; all else is as on one
        device.
    :param seed: seed of the minibatches and of the bound's samples: an integer or a pair of
        integers, or None for a new one.
    :param recover: True to go on if a bound or a gradient is NaN or infinite: training goes back to
        the last good parameters and raises the jitter of this model's GP layers tenfold, up to a
        hundredth of the kernel's variance, until that step is finite. If no jitter makes it finite,
        it halves the learning rate, once in a run. Each change causes a warning, and is in the
        record's `recoveries`. The jitter is then part of the model, here and in files. False to
        stop with an error.
    :return: the record; the first report is after one step and the last after the last step.
    :raises TypeError: if an argument is of the wrong type.
    :raises ValueError: if an argument has an invalid value, if the data holds NaN or infinity, does
        not fit the model or does not have the number of rows that it was built for, if the model
        has no trainable parameters; if `checkpoint_dir` cannot be written to, or holds a run with
        other settings, of another model, of more steps, or one that cannot be read; or if
        `learning_rate`, `augment` or `objective` cannot be distinguished from other functions.
    :raises OSError: if a checkpoint cannot be written, for example on a full disk. The model is in
        its state after the last step, and earlier checkpoints are unchanged.
    :raises NonFiniteError: if a bound or a gradient is NaN or infinite, and `recover` is False or
        did not help. The model keeps the last good parameters: those with which the last finite
        bound was computed.
    :warns RecoveryWarning: for every change that `recover` makes.
    :warns ConvergenceWarning: if the bound is worse at the end than at the start, or if it still
        rises in the last tenth of the steps by more than the noise of the reports and by more than
        a nat.
    :warns UserWarning: if the latest checkpoint cannot be read, and the run goes on from the one
        before it.
    :raises KeyboardInterrupt: if interrupted. The model is then in its state after the last step,
        with a checkpoint of it if `checkpoint_dir` is given.
    """
    settings = Settings(
        steps=steps,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        num_samples=num_samples,
        kl_warmup=kl_warmup,
        until_converged=stop_rule(until_converged),
        objective=objective_of(objective, temperature, augment),
        callbacks=() if callbacks is None else callbacks,
        progress=progress,
        checkpoint_dir=checkpoint_dir,
        jit_compile=jit_compile,
        strategy=strategy,
        seed=seed,
        recover=recover,
    )
    run = Run(model, data, settings)
    if not run.is_done:
        run.train()
        if run.record.shortcoming:
            warnings.warn(run.record.shortcoming, ConvergenceWarning, stacklevel=2)
    run.finish()
    return run.record
