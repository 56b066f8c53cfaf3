"""Training a model: :func:`fit`."""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ..core.random import Seed
from ..objectives.objective import Objective
from .record import ConvergenceWarning, FitRecord, Report
from .run import Run
from .settings import Settings, objective_of


def fit(
    model: Any,
    data: tuple[Any, Any],
    *,
    steps: int,
    batch_size: int | None = None,
    optimizer: Any = None,
    learning_rate: Any = None,
    num_samples: int | None = None,
    kl_warmup: int = 0,
    until_converged: bool = False,
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

    Steps run in a compiled loop. About once a second, or after every fiftieth of the steps if that
    is sooner, it stops for a report: the record grows by it, the progress bar shows it and the
    callbacks are called. Each step is a function of parameters, optimizer state, `seed` and the
    step's number alone, so that the same call gives the same parameters however often it stopped in
    between.

    With :mod:`gpflow.monitor`, let the period be one report::

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
        num_samples, seed)``, or :class:`gpflow.models.SVGP`. Trained in place.
    :param data: X [N, D], or images [N, H, W, C], and Y [N, Q]; cast to
        ``gpflow.default_float()``.
    :param steps: how many in all, or at most. A resumed run takes those that are missing.
    :param batch_size: rows per step, drawn without replacement; each epoch drops the remainder.
        None, or N and above, for all rows.
    :param optimizer: from ``gpflow.keras.tf_keras.optimizers``; None for a new Adam. Pass one to
        set it up otherwise, or to continue with its state in a later call.
    :param learning_rate: a number, a Keras ``LearningRateSchedule``, or a callable from the step
        ([], int64, counting from 0) to the rate, in TensorFlow operations. It replaces the
        optimizer's own rate. None leaves that as it is, and is 0.01 if `optimizer` is None.
    :param num_samples: samples per step, S; None for the model's own number.
    :param kl_warmup: number of steps over which the weight of the KL term rises linearly to 1:
        step t, counting from 0, has weight min((t + 1) / kl_warmup, 1). Until then the objective is
        no bound, and progress does not call it ELBO.
    :param until_converged: end the run when the objective has not risen by more than its noise, and
        than a nat, in the last third of its steps; not before 600 steps, and not while KL warm-up
        is in that third. The record then says ``stopped="converged"``. Whether it ends, and where,
        depends on the numbers of training alone.
    :param objective: what to maximise: :class:`~gpflow_gi.objectives.Elbo`, which is the default,
        another of :mod:`gpflow_gi.objectives`, or your own subclass of
        :class:`~gpflow_gi.objectives.Objective`. Only the first is called ELBO by progress and
        record. They show the ELBO beside the others.
    :param temperature: T; short for ``objective=TemperedBound(T)`` where it is not 1.
    :param augment: short for ``objective=AugmentedBound(augment, temperature=temperature)``:
        :func:`gpflow_gi.training.augmented`, or another function of rows and a seed.
    :param callbacks: each is called with every :class:`~gpflow_gi.training.Report`; None for none.
        One that returns True or raises :class:`~gpflow_gi.training.Stop` ends the run after that
        report, with model, record and checkpoint as at the end of any run. Called again with the
        same `checkpoint_dir`, it goes on from there.
    :param progress: show progress on standard error: a bar in a terminal or notebook, a few lines
        elsewhere.
    :param checkpoint_dir: a folder to save model, optimizer, step and record in, every minute and
        at the end. If it holds a run already, that run is resumed, and ends with the parameters
        that it would have had without a stop. A finished one is returned at once. The two latest
        checkpoints are kept, as files ``gpflow_gi-checkpoint-STEP.npz``; the folder may hold other
        things, which are left alone. The model of a resumed run must be built as the first was,
        with the same objective, and the same code of functions that have no name.
    :param jit_compile: compile the loop with XLA. On a CPU that is mostly slower.
    :param strategy: a ``tf.distribute.MirroredStrategy`` or ``MultiWorkerMirroredStrategy``, in
        whose scope the model was built (``with strategy.scope():``), and `optimizer` too if given.
        The rows of each step are shared by its replicas, each with samples of its own, so that all
        but the samples is as on one device.
    :param seed: of the minibatches and of the bound's samples: an integer or a pair of integers, or
        None for a fresh one.
    :param recover: what to do where a bound or a gradient is NaN or infinite. True: go back to the
        last good parameters, raise the jitter of this model's GP layers tenfold, up to a hundredth
        of the kernel's variance, until that step is finite, and go on; if no jitter makes it
        finite, halve the learning rate, once in a run. Each change is warned of, and is in the
        record's `recoveries`. The jitter is part of the model from then on, here and in files.
        False: stop.
    :return: the record; the first report is after one step and the last after the last step.
    :raises TypeError: if an argument is of the wrong kind.
    :raises ValueError: if an argument has a value that makes no sense, if the data holds NaN or
        infinity, does not fit the model or does not have the number of rows that it was built for,
        if the model has no trainable parameters, or if `checkpoint_dir` cannot be written to, or
        holds a run with other settings, of another model, of more steps, or one that cannot be
        read; or if nothing tells `learning_rate`, `augment` or `objective` from another.
    :raises OSError: if a checkpoint cannot be written, as on a full disk. The model is as after the
        last step, and earlier checkpoints as they were.
    :raises NonFiniteError: at a bound or gradient that is NaN or infinite, if `recover` is False or
        did not help. The model keeps the last good parameters: those with which the last finite
        bound was computed.
    :warns RecoveryWarning: of every change that `recover` made.
    :warns ConvergenceWarning: if the bound is worse at the end than at the start, or if it still
        rises in the last tenth of the steps by more than the noise of the reports and than a nat.
    :warns UserWarning: if the latest checkpoint cannot be read, and the run goes on from the one
        before it.
    :raises KeyboardInterrupt: if interrupted, with the model as it is after the last step, and a
        checkpoint of it if asked for.
    """
    settings = Settings(
        steps=steps,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        num_samples=num_samples,
        kl_warmup=kl_warmup,
        until_converged=until_converged,
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
    return run.record
