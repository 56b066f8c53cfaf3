"""The options that say where parts of the work run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import arguments

if TYPE_CHECKING:
    from gpflow_gi.benchmark.sweep import Workers


def add_to(group: Any, parts: str) -> None:
    """Add the options to a group.

    :param parts: the parts, in the plural, for the help.
    """
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        metavar="N",
        type=arguments.count,
        default=1,
        help=f"{parts} at a time, each on one core (default: %(default)s)",
    )
    where.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run them on a cluster of dask.distributed, which sees the same folder; the address "
        "is that of the scheduler: tcp://host:8786",
    )


def made(options: argparse.Namespace) -> Workers:
    """The workers that the options ask for.

    :raises ValueError: if there is no cluster, or if this system has no file locks.
    """
    errors()
    if options.dask is None:
        from gpflow_gi.benchmark.workers import LocalWorkers

        return LocalWorkers(options.jobs)
    try:
        from gpflow_gi.benchmark.cluster import ClusterWorkers
    except ModuleNotFoundError as error:
        raise ValueError(
            f"--dask needs {error.name}: install it with pip install 'gpflow-gi[cluster]'."
        ) from None
    return ClusterWorkers(options.dask)


def errors() -> tuple[type[Exception], ...]:
    """Errors of workers that cannot begin or go on; their messages are one line.

    :raises ValueError: if this system has no file locks.
    """
    try:
        from gpflow_gi.benchmark.lock import SweepRunningError
    except ModuleNotFoundError:
        raise ValueError("this command needs file locks, as Linux and macOS have.") from None
    from gpflow_gi.benchmark.sweep import FolderError
    from gpflow_gi.benchmark.worker import StopSweepError

    return SweepRunningError, StopSweepError, FolderError
