"""All cases in a process of their own, which a watchdog ends where one of them hangs."""

import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from multiprocessing.connection import Connection

from tabulate import tabulate


def work(start: int, only: str, areas: tuple[str, ...], pipe: Connection) -> None:
    """Run the cases from one on, in this process; said before and after each."""
    # Text that is taken for the name of a folder makes one.
    os.chdir(tempfile.mkdtemp())
    from .judging import judge
    from .targets import cases

    chosen = cases()
    for i in range(start, len(chosen)):
        name, kind, target, _, call = chosen[i]
        if only in name and target.area in (areas or (target.area,)):
            pipe.send((i, name, kind, target.area, None))
            verdict = judge(call, target.of_estimator)
            pipe.send((i, name, kind, target.area, verdict))
    pipe.send(None)


def run(
    seconds: float, only: str = "", areas: tuple[str, ...] = (), log: bool = True
) -> list[tuple[str, str, str, str, str]]:
    """Every case: its name, kind and area, what it did, and the error.

    :param seconds: after which a case hangs, and its process is ended.
    :param only: cases with this in their name.
    :param areas: cases of these; all by default.
    """
    from .judging import HANG

    context = multiprocessing.get_context("spawn")
    results = []
    start, done = 0, False
    began = time.perf_counter()
    while not done:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(start, only, areas, sender))
        process.start()
        sender.close()
        current = None
        while True:
            # The first case of a process waits for TensorFlow.
            if not receiver.poll(seconds if current else 300):
                end = f"no answer in {seconds:g} seconds"
                break
            try:
                message = receiver.recv()
            except EOFError:
                process.join()
                end = f"the process ended with {process.exitcode}"
                break
            if message is None:
                done = True
                break
            i, name, kind, area, verdict = message
            current = (name, kind, area)
            if verdict is not None:
                results.append((name, kind, area, verdict.outcome, verdict.detail))
                if log and verdict.outcome not in ("words", "answer"):
                    print(f"{verdict.outcome:10} {name}: {verdict.detail}"[:400], flush=True)
            start = i + 1
            if log and verdict is not None and len(results) % 500 == 0:
                elapsed = time.perf_counter() - began
                print(f"{len(results)} cases, {elapsed:.0f} s: {name}", file=sys.stderr, flush=True)
        process.kill()
        process.join()
        if not done:
            if current is None:
                raise RuntimeError(f"The cases cannot be run: {end}.")
            results.append((*current, HANG, end))
            print(f"{HANG:10} {current[0]}: {end}", flush=True)
    return results


def summary(results: list[tuple[str, str, str, str, str]]) -> str:
    """Tables: how many cases of each area and kind got what."""
    from .judging import ANSWER, HANG, LONG, NAN, RAW, WORDS

    outcomes = [WORDS, ANSWER, RAW, LONG, NAN, HANG]
    tables = []
    for title, column in (("where", 2), ("kind of input", 1)):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for result in results:
            counts[result[column]][result[3]] += 1
            counts["all"][result[3]] += 1
        rest = [name for name in counts if name != "all"]
        rows = [
            [name, sum(counts[name].values()), *(counts[name][o] for o in outcomes)]
            for name in [*rest, "all"]
        ]
        tables.append(tabulate(rows, [title, "cases", *outcomes], tablefmt="github"))
    return "\n\n".join(tables)
