"""Training a model: :func:`fit`."""

import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ..core.random import Seed, as_seed
from ..core.validation import check_data, non_negative_integer, positive_integer, positive_number
from .arguments import check_augment, check_callbacks, check_num_data, name_of
from .checkpoints import Checkpoints, check_directory, describe_data, describe_parameters
from .convergence import shortcoming_of
from .description import describe_function, describe_model
from .guard import Snapshots
from .learning_rate import describe_optimizer, make_optimizer, plain_number
from .minibatches import Minibatches
from .objective import bound_terms_of, kl_weight
from .pace import Pace
from .progress import Progress
from .record import ConvergenceWarning, FitRecord, Report
from .recovery import Recoveries
from .replicas import Replicas
from .steps import TrainingSteps


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
    :param steps: how many in all. A resumed run takes those that are missing.
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
    :param temperature: T, another factor on the KL term, which 1 leaves alone: below 1, the
        optimum is a cold posterior (Wenzel et al., "How good is the Bayes posterior in deep neural
        networks really?", ICML 2020), proportional to likelihood^(1/T) times prior. The objective
        is then no bound on the log evidence; progress and record call it a tempered bound, and show
        the ELBO beside it.
    :param augment: from the rows of a step, in the shape that they have in `data` ([B, D] or
        [B, H, W, C]), and a seed [2] to others of that shape, in TensorFlow operations:
        :func:`gpflow_gi.training.augmented`, or ``functools.partial(augmented, padding=2)``. Every
        step sees others, and the inducing points none. What is maximised is then a bound of no
        data set's log evidence; progress and record call it an augmented bound, and show the ELBO
        of the rows as they are beside it, which takes one pass for each report.
    :param callbacks: each is called with every :class:`~gpflow_gi.training.Report`; None for
        none.
    :param progress: show progress on standard error: a bar in a terminal or notebook, a few lines
        elsewhere.
    :param checkpoint_dir: a folder to save model, optimizer, step and record in, every minute and
        at the end. If it holds a run already, that run is resumed, and ends with the parameters
        that it would have had without a stop. A finished one is returned at once. The two latest
        checkpoints are kept, as files ``gpflow_gi-checkpoint-STEP.npz``; the folder may hold other
        things, which are left alone. The model of a resumed run must be built as the first was,
        with the same code of `learning_rate` and `augment` where these have no name.
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
        read; or if nothing tells `learning_rate` or `augment` from another function.
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
    steps = positive_integer("steps", steps)
    if batch_size is not None:
        batch_size = positive_integer("batch_size", batch_size)
    if num_samples is not None:
        num_samples = positive_integer("num_samples", num_samples)
    kl_warmup = non_negative_integer("kl_warmup", kl_warmup)
    temperature = positive_number("temperature", temperature)
    callbacks = check_callbacks(callbacks)
    if not isinstance(recover, bool):
        raise TypeError(f"recover must be True or False, but is {recover!r}.")
    if checkpoint_dir is not None:
        check_directory(checkpoint_dir)
    if seed is None and checkpoint_dir is not None:
        raise ValueError("A run with a checkpoint_dir needs a seed, to be the same when resumed.")
    replicas = Replicas(strategy)
    terms = bound_terms_of(model, num_samples)
    data = check_data(data)
    num_rows = int(data[0].shape[0])
    if batch_size is not None and batch_size >= num_rows:
        batch_size = None
    replicas.check_settings(batch_size or num_rows, seed, checkpoint_dir, jit_compile)
    seed = as_seed(seed)
    check_num_data(model, num_rows, batch_size is not None or replicas.num > 1)
    if hasattr(model, "check_data"):
        # Images stay images here, which augment is given.
        data = data[0], model.check_data(data)[1]
    if augment is not None:
        check_augment(augment, data[0][:batch_size])
    replicas.check_variables("model", model.variables)
    variables = list(model.trainable_variables)
    if not variables:
        raise ValueError("The model has no trainable parameters.")
    with replicas.scope():
        optimizer, schedule = make_optimizer(optimizer, learning_rate, variables)
    replicas.check_variables("optimizer", optimizer.variables)

    settings = {
        "seed": seed.numpy().tolist(),
        "batch_size": batch_size,
        "num_samples": getattr(model, "num_samples", None) if num_samples is None else num_samples,
        "kl_warmup": kl_warmup,
        "temperature": temperature,
        "augment": None if augment is None else name_of(augment),
        "replicas": replicas.num,
        **describe_optimizer(optimizer, learning_rate),
    }
    run = TrainingSteps(
        model,
        terms,
        variables,
        optimizer,
        schedule,
        Minibatches(data, batch_size, seed, jit_compile),
        replicas,
        kl_warmup=kl_warmup,
        temperature=temperature,
        augment=augment,
        seed=seed,
        jit_compile=jit_compile,
    )
    record = FitRecord(settings)
    checkpoints = None
    if checkpoint_dir is not None:
        settings.update(describe_parameters(model), **describe_data(data))
        description = describe_model(model)
        for name, function in {"learning_rate": learning_rate, "augment": augment}.items():
            if callable(function):
                description.update(describe_function(name, function))
        parts = {"model": model, "optimizer": optimizer, "step": run.step}
        checkpoints = Checkpoints(checkpoint_dir, parts, settings, description)
        record = checkpoints.restore() or record
        if int(run.step) > steps:
            raise ValueError(
                f"checkpoint_dir {str(checkpoint_dir)!r} holds a run of {int(run.step)} steps "
                f"already, more than steps={steps}."
            )
        if int(run.step) == steps:
            return record

    snapshots = Snapshots(run, [*model.variables, *optimizer.variables])
    recoveries = Recoveries(
        model,
        run,
        snapshots,
        optimizer,
        is_scheduled=schedule is not None,
        num_samples=num_samples,
        record=record,
        enabled=recover,
    )
    pace = Pace(steps)
    seconds = record.seconds
    with Progress(steps, int(run.step), num_rows, progress) as bar:
        try:
            started = time.perf_counter()
            run.compile()
            record.compile_seconds += time.perf_counter() - started
            bar.compiled(seconds)
            while (done := int(run.step)) < steps:
                snapshots.take()
                num_steps = min(pace.num_steps, steps - done)
                started = time.perf_counter()
                outcome = run.run(num_steps)
                elapsed = replicas.agree(time.perf_counter() - started)
                seconds += elapsed
                if not outcome.is_finite:
                    recoveries.go_on(outcome)
                    continue
                pace.measured(num_steps, elapsed)
                rate = plain_number(optimizer.learning_rate)
                weight = float(kl_weight(outcome.step - 1, kl_warmup, temperature))
                first, second = outcome.objective_terms
                expected_log_likelihood, kl = outcome.bound_terms
                report = Report(
                    step=outcome.step,
                    seconds=seconds,
                    expected_log_likelihood=expected_log_likelihood,
                    kl=kl,
                    kl_weight=weight,
                    temperature=temperature,
                    augmented_bound=None if augment is None else first - weight * second,
                    learning_rate=rate,
                )
                record.reports.append(report)
                bar.report(report)
                if checkpoints is not None:
                    checkpoints.save_if_due(record)
                for callback in callbacks:
                    callback(report)
        except KeyboardInterrupt:
            snapshots.undo_failure()
            if checkpoints is not None:
                checkpoints.save(record)
            raise
    record.shortcoming = shortcoming_of(record, num_rows)
    if checkpoints is not None:
        checkpoints.save(record)
    if record.shortcoming:
        warnings.warn(record.shortcoming, ConvergenceWarning, stacklevel=2)
    return record
