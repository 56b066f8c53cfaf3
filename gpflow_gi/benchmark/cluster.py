"""Workers of a cluster, with dask.distributed.

Each trial is run by its own process, which a task of the cluster supervises in the same way as on
one machine. The driver and the workers share only the folder. If a worker of the cluster is lost,
its trial is lost too, and the cluster runs it on another worker.
"""

import logging
from concurrent.futures import CancelledError, Future
from typing import Any

from dask.distributed import Client, KilledWorker
from distributed.comm.addressing import get_address_host_port

from . import records
from .worker import StopSweepError, Task
from .workers import Worker, write_failure

CONNECT_SECONDS = 10


class ClusterError(ValueError):
    """Error: there is no cluster. The message is one line."""


def run_alone(task: Task) -> dict[str, Any]:
    """Run a trial in a new process, and wait for it.

    :return: the record.
    :raises StopSweepError: as :meth:`gpflow_gi.benchmark.workers.Worker.run`.
    """
    worker = Worker()
    try:
        return worker.run(task)
    finally:
        worker.end()


class ClusterWorkers:
    """Workers of a cluster, with the interface of
    :class:`gpflow_gi.benchmark.workers.LocalWorkers`.

    :param address: address of the scheduler: "tcp://host:8786".
    :raises ClusterError: if that is not an address, or if no scheduler answers there.
    """

    def __init__(self, address: str) -> None:
        # The sweep reports lost connections in one line.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._address = address
        # Without an address the client raises too, but cannot be closed without a traceback.
        try:
            get_address_host_port(address)
        except ValueError as error:
            raise ClusterError(
                f"{address!r} is not the address of a scheduler, such as tcp://host:8786 ({error})."
            ) from None
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:  # TypeError: TLS without certificates
            raise ClusterError(f"no scheduler answers at {address} ({error}).") from None
        self._executor = self._client.get_executor(pure=False)

    def num_jobs(self) -> int:
        """The number of trials that can run at a time; at least 1, to wait for the first worker.

        :raises StopSweepError: if the scheduler is gone.
        """
        try:
            return max(1, sum(self._client.nthreads().values()))
        except OSError:
            raise self._lost() from None

    def submit(self, task: Task) -> "Future[dict[str, Any]]":
        """Submit a trial."""
        future: Future[dict[str, Any]] = self._executor.submit(run_alone, task)
        return future

    def outcome(self, future: "Future[dict[str, Any]]", task: Task) -> dict[str, Any]:
        """The record of a trial that has ended, also if several workers were lost with it.

        :raises StopSweepError: if the sweep was ended, or if it cannot go on.
        """
        try:
            return future.result()
        except KilledWorker:
            return write_failure(
                task, records.now(), 0.0, "WorkerDied", "the cluster lost all workers that ran it."
            )
        except CancelledError:
            raise self._lost() from None
        except StopSweepError:
            raise
        except Exception as error:  # for example, if this package is not installed there
            raise StopSweepError(
                f"the cluster at {self._address} cannot run trials: {type(error).__name__}: {error}"
            ) from None

    def _lost(self) -> StopSweepError:
        return StopSweepError(f"the cluster at {self._address} was lost.")

    def close(self) -> None:
        """Leave the cluster. Running trials notice that the sweep has ended."""
        self._client.close()
