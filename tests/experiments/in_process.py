"""Workers without processes, for experiments whose trials tests want to watch."""

from concurrent.futures import Future

from gpflow_gi.benchmark import worker


class InProcess:
    """Run every trial at once, in this process."""

    def __init__(self):
        self.ran = []
        self.is_closed = False

    def num_jobs(self):
        return 1

    def submit(self, task):
        future = Future()
        try:
            future.set_result(worker.run(task, lambda: self.ran.append(task.trial.method)))
        except worker.StopSweepError as error:
            future.set_exception(error)
        return future

    def outcome(self, future, task):
        return future.result()

    def close(self):
        self.is_closed = True
