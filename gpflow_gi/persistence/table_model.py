"""A trained model with everything between it and the file of a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from gpflow.likelihoods import Bernoulli, Gaussian, Poisson

from ..core.validation import file_path, positive_integer, probability, shown
from ..datasets import Standardiser
from ..datasets.new_rows import typed_rows
from ..datasets.preprocessing import Preprocessing
from ..datasets.targets import CLASSIFICATION, COUNTS, REGRESSION, TASKS
from ..metrics import mixture_moments, mixture_quantile
from ..models import Predictive
from ..models.frozen_posterior import FrozenPosterior
from ..models.predictive import DEFAULT_PREDICTION_SAMPLES
from . import saving
from .archive import LoadError

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.025, 0.5, 0.975)

_MOST_SAMPLES = 10_000
"""Largest number of samples that a file may ask for."""


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model that reads tables like the one that it was trained on, and predicts in its units.

    ``gpflow-gi compare --save DIR`` writes them, and ``gpflow-gi predict`` reads them.

    :param model: trained on standardised inputs.
    :param preprocessing: from the columns of a table to inputs.
    :param inputs: the standardiser of the D inputs.
    :param target: the name of the column that is predicted.
    :param targets: the standardiser of the target.
    :param num_samples: S, the number of samples of the layers below the last.
    :param task: "regression", "classification" or "counts".
    :param classes: the names of the classes.
    :param seed: seed of the samples. A row's prediction does not depend on the other rows.
    """

    model: Predictive
    preprocessing: Preprocessing
    inputs: Standardiser
    target: str
    targets: Standardiser
    num_samples: int = DEFAULT_PREDICTION_SAMPLES
    seed: int = 0
    task: str = REGRESSION
    classes: tuple[str, ...] = ()

    def predict(self, rows: pd.DataFrame, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """Predict the target.

        :param rows: n rows with the columns of the training table, as cells; other columns play no
            part.
        :param quantiles: probabilities, in (0, 1).
        :return: [n rows]: "mean", "standard_deviation" and "quantile_p" for each p, in the unit of
            the target. For classes: "class", the most probable one, and "probability_c" for each.
        :raises ValueError: if `rows` is no data frame, if it lacks a column, if a value is missing
            that nothing replaces or is of another kind than in training, or if a quantile is not in
            (0, 1).
        """
        return self.predict_typed(typed_rows(rows, self.preprocessing), quantiles)

    def predict_typed(
        self, frame: pd.DataFrame, quantiles: Sequence[float] = QUANTILES
    ) -> pd.DataFrame:
        """The same for rows that were read already.

        :param frame: n rows, typed by the preprocessing.
        :param quantiles: as for :meth:`predict`.
        """
        import pandas as pd

        names, quantiles = self.names(quantiles), [float(p) for p in quantiles]
        X = self.inputs.transform(self.preprocessing.transform(frame))
        if self.task == CLASSIFICATION:
            probabilities = self._posterior.predict_proba(X).numpy()
            likeliest = np.array(self.classes, dtype=object)[probabilities.argmax(axis=1)]
            return pd.DataFrame(dict(zip(names, [likeliest, *probabilities.T], strict=True)))
        if self.task == COUNTS:
            mean, variance = (part.numpy()[:, 0] for part in self._posterior.predict_y(X))
            draws = draw_counts(self._posterior, X)
            found = [mean, np.sqrt(variance)]
            found += [np.quantile(draws, p, axis=0, method="inverted_cdf") for p in quantiles]
            return pd.DataFrame(dict(zip(names, found, strict=True)))
        components = self._posterior.predict_y_components(X)
        parts = [component.numpy() for component in components]
        mean, variance = mixture_moments(*parts)
        ends = [mixture_quantile(p, *parts) for p in quantiles]
        found = [self.targets.inverse(one)[:, 0] for one in (mean, *ends)]
        found.insert(1, np.sqrt(variance[:, 0]) * self.targets.scale[0])
        return pd.DataFrame(dict(zip(names, found, strict=True)))

    def names(self, quantiles: Sequence[float] = QUANTILES) -> list[str]:
        """The names of the columns of a prediction.

        :param quantiles: as for :meth:`predict`; of no effect for classes.
        :return: the names, in their order.
        :raises ValueError: if a quantile is not in (0, 1).
        """
        if not isinstance(quantiles, Sequence) or isinstance(quantiles, str | bytes):
            raise ValueError(f"quantiles must be a list of numbers, but is {shown(quantiles)}.")
        ends = [f"quantile_{probability('quantiles', one)}" for one in quantiles]
        if self.task == CLASSIFICATION:
            return ["class", *(f"probability_{one}" for one in self.classes)]
        return ["mean", "standard_deviation", *ends]

    @cached_property
    def _posterior(self) -> FrozenPosterior:
        return self.model.posterior(self.num_samples, seed=self.seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, from which :func:`gpflow_gi.load` reads the model alone.

        :param path: path of the file, with any ending.
        :raises SaveError: as :func:`gpflow_gi.save`.
        """
        plain = {
            "preprocessing": self.preprocessing.as_dict(),
            "inputs": _plain(self.inputs),
            "target": self.target,
            "targets": _plain(self.targets),
            "num_samples": self.num_samples,
            "seed": self.seed,
            "task": self.task,
            "classes": list(self.classes),
        }
        saving.write(self.model, file_path("path", path), {"table": plain})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Iterable[Any] = ()) -> TableModel:
        """Read a file of :meth:`save`. Nothing in it is executed, as with :func:`gpflow_gi.load`.

        :param path: path of the file.
        :param trusted: as for :func:`gpflow_gi.load`.
        :raises LoadError: as :func:`gpflow_gi.load`, and if the file holds a model alone.
        """
        path = file_path("path", path)
        model, architecture = saving.read(path, trusted)
        if "table" not in architecture:
            raise LoadError(
                f"{path} holds a model without the columns of a table: gpflow-gi compare --save "
                "writes files with both."
            )
        try:
            return cls._of(model, architecture["table"])
        except (ValueError, TypeError, KeyError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise LoadError(
                f"{path} cannot be loaded: its description of the table is not valid ({reason})."
            ) from None

    @classmethod
    def _of(cls, model: Predictive, plain: Any) -> TableModel:
        if not isinstance(plain, Mapping) or not isinstance(plain["target"], str):
            raise ValueError("it has no name of the target")
        preprocessing = Preprocessing.from_dict(plain["preprocessing"])
        D = len(preprocessing.input_names)
        if model.input_shape not in (None, (D,)):
            raise ValueError(f"the columns give {D} inputs, but the model takes another number")
        task, classes = plain["task"], plain["classes"]
        _check_task(model, task, classes)
        num_samples = positive_integer("num_samples", plain["num_samples"])
        seed = plain["seed"]
        if num_samples > _MOST_SAMPLES or type(seed) is not int or not 0 <= seed < 2**31:
            raise ValueError("num_samples or seed is too large")
        return cls(
            model,
            preprocessing,
            _standardiser(plain["inputs"], D),
            plain["target"],
            _standardiser(plain["targets"], 1),
            num_samples,
            seed,
            task,
            tuple(classes),
        )


def draw_counts(posterior: FrozenPosterior, X: Any) -> Any:
    """Draws of counts by a Poisson likelihood with log rates f, [T, n].

    A component of the prediction has f ~ N(m, v), so that y has the mean a = exp(m + v / 2) and
    the variance a + a^2 (exp(v) - 1); m and v follow from these. The components, the quantiles of
    f and those of y given f are points of one Sobol sequence, the same in all rows: a row's draws
    do not depend on the others. T is a power of 2, at least 1024 and four times the number of
    components.

    :param posterior: of a model for counts.
    :param X: [n, D].
    """
    from scipy.stats import norm, poisson, qmc

    mean, variance = (part.numpy()[..., 0] for part in posterior.predict_y_components(X))
    v = np.log1p(np.maximum(variance - mean, 0) / mean**2)
    m = np.log(mean) - v / 2
    S = len(mean)
    points = qmc.Sobol(3, seed=0).random_base2(max(10, (4 * S - 1).bit_length()))
    # A component by its number in the sequence would have the same few bits in all of its points.
    places = np.minimum((points[:, 2] * S).astype(int), S - 1)
    log_rate = m[places] + np.sqrt(v[places]) * norm.ppf(points[:, :1])
    return poisson.ppf(points[:, 1:2], np.exp(log_rate))


def _check_task(model: Predictive, task: Any, classes: Any) -> None:
    """Check that the likelihood is one of the task.

    :raises ValueError: if it is not.
    """
    if task not in TASKS or not isinstance(classes, list):
        raise ValueError("the task or its classes are unknown")
    if any(not isinstance(name, str) for name in classes) or len(set(classes)) < len(classes):
        raise ValueError("the names of the classes are not all different")
    likelihood = model.likelihood
    if task == CLASSIFICATION:
        num_classes = getattr(likelihood, "num_classes", 2 * isinstance(likelihood, Bernoulli))
        if num_classes < 2 or num_classes != len(classes):
            raise ValueError("the model has another number of classes")
    elif model.output_dim != 1 or classes:
        raise ValueError("the model has more than one output")
    elif not isinstance(likelihood, Poisson if task == COUNTS else Gaussian):
        raise ValueError("the likelihood of the model is not one for the task")


def _plain(scaling: Standardiser) -> dict[str, Any]:
    return {
        "mean": np.asarray(scaling.mean).tolist(),
        "scale": np.asarray(scaling.scale).tolist(),
        "constant": np.broadcast_to(scaling.constant, np.shape(scaling.mean)).tolist(),
    }


def _standardiser(plain: Any, columns: int) -> Standardiser:
    if not isinstance(plain, Mapping) or plain.keys() != {"mean", "scale", "constant"}:
        raise ValueError("a standardiser must have mean, scale and constant")
    for name, kind in (("mean", float), ("scale", float), ("constant", bool)):
        numbers = plain[name]
        if not isinstance(numbers, list) or [type(one) for one in numbers] != [kind] * columns:
            raise ValueError(f"a standardiser must have one number for each of {columns} columns")
    mean, scale = np.array(plain["mean"]), np.array(plain["scale"])
    if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("a standardiser has scales that are not positive")
    return Standardiser(mean, scale, np.array(plain["constant"]))
