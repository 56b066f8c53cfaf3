"""``gpflow-gi predict``."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import arguments
from .console import FAILED, MISUSED, import_noise_hidden, say, say_error

if TYPE_CHECKING:
    import pandas as pd

    from gpflow_gi.datasets.new_rows import NewRows
    from gpflow_gi.persistence import TableModel


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    predict = commands.add_parser(
        "predict",
        help="predict the rows of a table by a model that compare has saved",
        description=(
            "Predict the target of every row of a table, by a model of gpflow-gi compare --save. "
            "The table has the columns of inputs of the one that the model was trained on, in any "
            "order; others play no part. Everything that is wrong with it is said before the first "
            "prediction. Writes the mean, the standard deviation and quantiles, in the unit of the "
            "target; of classes the most probable one, and the probability of each."
        ),
        allow_abbrev=False,
        formatter_class=arguments.wide_help,
    )
    predict.add_argument("model", metavar="MODEL", type=Path, help="file of the model")
    predict.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        required=True,
        help="comma-separated values or Parquet, maybe compressed, as for gpflow-gi compare",
    )
    predict.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        required=True,
        help="file for the predictions, .csv or .parquet; a row for each of DATA's, in its order",
    )
    predict.add_argument(
        "--quantiles",
        metavar="P,P",
        type=arguments.list_of(arguments.fraction, "numbers between 0 and 1, as 0.05,0.95"),
        help="probabilities of quantiles (default: 0.025,0.5,0.975)",
    )
    predict.add_argument(
        "--keep",
        metavar="COLUMN,COLUMN",
        action="append",
        default=[],
        help="columns of DATA to copy, such as an identifier",
    )
    predict.add_argument(
        "--allow-unknown",
        action="store_true",
        help="predict rows with categories that the training rows do not have, as of none "
        "(default: they are refused)",
    )
    predict.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    :return: the exit code: 0, 1 if a prediction is not finite, 2 if the arguments, the model, the
        data or the file for predictions cannot be used.
    """
    from gpflow_gi.datasets.csv import named
    from gpflow_gi.datasets.table_files import TableFile

    try:
        kept = named(TableFile.open(options.data), "--keep", options.keep)
        _check_out(options)
    except ValueError as error:  # DataError is one
        return say_error(str(error), MISUSED)
    with import_noise_hidden():
        import gpflow
    with gpflow.config.as_context():
        return _predict(options, kept)


def _predict(options: argparse.Namespace, kept: tuple[str, ...]) -> int:
    import gpflow

    from gpflow_gi.core.whole_file import write_whole
    from gpflow_gi.datasets import DataError
    from gpflow_gi.datasets.new_rows import NewRows
    from gpflow_gi.datasets.targets import CLASSIFICATION
    from gpflow_gi.persistence import LoadError, TableModel
    from gpflow_gi.persistence.saving import jitter_of
    from gpflow_gi.persistence.table_model import QUANTILES

    try:
        gpflow.config.set_default_jitter(jitter_of(options.model))
        model = TableModel.load(options.model)
        rows = NewRows.open(options.data, model.preprocessing, allow_unknown=options.allow_unknown)
    except (LoadError, DataError) as error:
        return say_error(str(error), MISUSED)
    if model.task == CLASSIFICATION and options.quantiles:
        return say_error("--quantiles: the model predicts classes, which have none.", MISUSED)
    for name in kept:
        if name in model.names(options.quantiles or QUANTILES):
            said = f"--keep {name!r}: a column of the predictions has that name."
            return say_error(said, MISUSED)
    write = _write_parquet if options.out.suffix.lower() in _PARQUET else _write_csv
    try:
        write_whole(
            options.out,
            f".{options.out.name}.part",
            lambda file: write(file, _predictions(model, rows, kept, options.quantiles)),
        )
    except (ArithmeticError, ValueError) as error:
        return say_error(str(error), FAILED)
    except OSError as error:
        return say_error(f"{options.out} cannot be written: {error.strerror}.", MISUSED)
    say(f"{rows.num_rows} predictions of {model.target!r} are in {options.out}")
    return 0


_PARQUET = (".parquet", ".pq")


def _check_out(options: argparse.Namespace) -> None:
    """Check, before the model is loaded, that predictions can be written.

    :raises ValueError: if they cannot.
    """
    out = options.out
    if out.suffix.lower() not in (".csv", *_PARQUET):
        raise ValueError(f"--out {out}: the name must end with .csv or .parquet.")
    if out.suffix.lower() in _PARQUET:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ValueError(
                f"--out {out}: Parquet needs pyarrow: pip install 'gpflow-gi[parquet]'."
            ) from None
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {out.parent}.")
    for name in ("data", "model"):
        if out.resolve() == getattr(options, name).resolve():
            raise ValueError(f"--out {out} is the file of the {name}: choose another.")


def _predictions(
    model: TableModel, rows: NewRows, kept: tuple[str, ...], quantiles: Any
) -> Iterator[pd.DataFrame]:
    """Kept columns and predictions, part by part.

    :raises ArithmeticError: if a prediction is not finite.
    """
    import numpy as np
    import pandas as pd

    from gpflow_gi.persistence.table_model import QUANTILES

    for copied, typed in rows.parts(kept):
        found = model.predict_typed(typed, quantiles or QUANTILES)
        if not np.isfinite(found.select_dtypes("number").to_numpy()).all():
            raise ArithmeticError("a prediction is not finite.")
        yield pd.concat([copied, found], axis="columns")


def _write_csv(file: IO[bytes], parts: Iterator[pd.DataFrame]) -> None:
    from gpflow_gi.core.formulas import safe

    def cell(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        try:
            float(text)
            return text  # a number that was kept, such as -1
        except ValueError:
            return safe(text)

    stream = io.TextIOWrapper(file, "utf-8", newline="")
    for i, part in enumerate(parts):
        texts = part.select_dtypes(exclude=["number", "bool"]).columns
        part = part.assign(**{name: [cell(one) for one in part[name]] for name in texts})
        part.columns = [safe(name) for name in part.columns]
        part.to_csv(stream, index=False, header=i == 0)
    stream.flush()
    stream.detach()


def _write_parquet(file: IO[bytes], parts: Iterator[pd.DataFrame]) -> None:
    from pyarrow import Table, parquet

    writer = None
    try:
        for part in parts:
            table = Table.from_pandas(part, preserve_index=False)
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
