# ---
# jupyter:
#   jupytext:
#     formats: ipynb,.pct.py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From the command line to a table for a paper
#
# After this tutorial you can
#
# - compare methods on many splits of UCI regression sets, or of a table of your own, by one
#   command,
# - kill that command and go on where it was,
# - turn what it leaves into a page, a figure, and a table in LaTeX,
# - give the same work to a cluster.
#
# Commands are shown as in a terminal; a line of Python runs them here. The budget is tiny, so
# that all of it takes a few minutes: the numbers below are those of methods that were hardly
# trained.

# %%
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from gpflow.ci_utils import reduce_in_tests  # the tests of this tutorial run fewer trials
from sklearn.datasets import load_diabetes

from gpflow_gi.plotting import COLOURS

folder = Path(tempfile.mkdtemp())
PROGRAM = [sys.executable, "-m", "gpflow_gi"]  # in a terminal: gpflow-gi


def start(arguments, program=PROGRAM):
    """Start a program in the folder; what it says goes into a file beside."""
    said = open(folder / "said.txt", "w+")
    return subprocess.Popen(
        [*program, *shlex.split(arguments)], cwd=folder, stdout=said, stderr=subprocess.STDOUT
    )


def gpflow_gi(arguments):
    """Run a command to its end, and show what a terminal would show."""
    print(f"$ gpflow-gi {arguments}")
    code = start(arguments).wait()
    print((folder / "said.txt").read_text())
    assert code == 0


# %% [markdown]
# ## What there is

# %% tags=["scroll-output"]
gpflow_gi("benchmark --list")

# %% [markdown]
# The UCI sets go by the names in that list: `--datasets yacht,boston`. They come with the
# published splits, and are downloaded when they are first used; `GPFLOW_GI_DATA` names a folder
# where they are already ([data sets](../docs/datasets.md)). A table of your own is as good. So
# that this page needs no network, it takes one from scikit-learn.

# %%
table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progression"})
table.to_csv(folder / "diabetes.csv", index=False)
print(table.head(3).to_string())

# %% [markdown]
# ## A sweep
#
# A *trial* is a method on a split: trained on nine tenths of the rows, measured on the rest. Here
# are three splits and four methods. `--budget` says how much a trial may compute, the same for
# all methods; `--set` changes a number of it. We start the sweep, and *kill* it when some trials
# are done: no warning, no chance to tidy up.

# %%
SWEEP = (
    "benchmark --data diabetes.csv --target progression"
    f" --methods {'linear,svgp,dgp-local-2,dgp-global-2' if reduce_in_tests(1, 0) else 'linear'}"
    f" --splits {reduce_in_tests(3, 2)} --budget quick --set steps=300 --set kl_warmup=100 --set num_inducing=20"
    " --jobs 2 --out sweep"
)
records = folder / "sweep" / "records"


def done():
    return sorted(records.glob("*.json"))


print(f"$ gpflow-gi {SWEEP}")
sweep = start(SWEEP)
while len(done()) < reduce_in_tests(4, 1) and sweep.poll() is None:
    time.sleep(0.2)
sweep.send_signal(signal.SIGKILL)
sweep.wait()
print((folder / "said.txt").read_text())
print(f"killed; {len(done())} trials have a record")

# %% [markdown]
# ## Go on
#
# A trial's record is a file that appears whole or not at all. Its name is a hash of everything
# that its numbers depend on. So the same command again runs what is missing, and nothing twice.

# %%
before = {path: path.stat().st_mtime for path in done()}
gpflow_gi(SWEEP)
assert all(path.stat().st_mtime == then for path, then in before.items())
print(f"{len(done())} trials have a record; {len(before)} of them were left as they were")

# %% [markdown]
# A record says all there is to say of a trial:

# %%
record = json.loads(done()[0].read_text())
for name, value in record.items():
    print(f"{name}: {str(value)[:90]}")

# %% [markdown]
# ## The report

# %%
gpflow_gi("report sweep")
print("\n".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("report/**/*.*"))))

# %% [markdown]
# `report.html` needs no other file and can be sent around. Stars and tildes are paired tests:
# differences between methods on the same splits, since splits differ more than methods do. With
# three splits no log density can be told from the best. The bounds can.
#
# The CSV files are for work of your own, such as a figure of means and standard errors,

# %%
summary = pd.read_csv(folder / "sweep" / "report" / "summary.csv")
METRICS = {"log_density": "log density (nats)", "rmse": "RMSE"}
fig, axes = plt.subplots(1, 2, figsize=(9, 2.4), sharey=True, layout="constrained")
for ax, (metric, label) in zip(axes, METRICS.items(), strict=True):
    rows = summary[summary.metric == metric]
    ax.errorbar(rows["mean"], rows.method, xerr=rows.standard_error, fmt="o", color=COLOURS[0])
    ax.set(xlabel=label)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E5E5E5", linewidth=0.6)
axes[0].invert_yaxis()
axes[0].margins(y=0.15)
plt.show()

# %% [markdown]
# or a table for a paper.

# %%
rows = summary[summary.metric.isin(METRICS)].copy()
rows["cell"] = [
    f"${mean:.2f} \\pm {error:.2f}$"
    for mean, error in zip(rows["mean"], rows.standard_error, strict=True)
]
wide = rows.pivot(index="method", columns="metric", values="cell")[list(METRICS)]
print(wide.rename(columns=METRICS).rename_axis(None).rename_axis(None, axis=1).to_latex())

# %% [markdown]
# ## A cluster
#
# With `--dask ADDRESS` the same command hands its trials to the workers of a
# [dask](https://distributed.dask.org) cluster. They write to the same folder, which all of them
# must see. Here is a cluster on one machine: a scheduler and a worker, which on a real one your
# queueing system would start. It adds a method to the sweep; what is done stays done. (`pip
# install 'gpflow-gi[cluster]'`)

# %%
DASK = [sys.executable, "-m", "dask"]
logs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
scheduler = subprocess.Popen(
    [*DASK, *"scheduler --host 127.0.0.1 --port 0 --scheduler-file scheduler.json".split()], **logs
)
worker = subprocess.Popen(
    [*DASK, *"worker --scheduler-file scheduler.json --nworkers 1 --nthreads 1".split()], **logs
)
while not (folder / "scheduler.json").exists():
    assert scheduler.poll() is None
    time.sleep(0.2)
address = json.loads((folder / "scheduler.json").read_text())["address"]
try:
    gpflow_gi(
        SWEEP.replace("--methods linear", "--methods gp,linear").replace(
            "--jobs 2", f"--dask {address}"
        )
    )
finally:
    worker.terminate()
    scheduler.terminate()
    worker.wait()
    scheduler.wait()

# %% [markdown]
# ## What to try next
#
# - The same with real data and a real budget, overnight: `gpflow-gi benchmark --datasets
#   yacht,boston,energy --methods svgp,dgp-local-2,dgp-global-2 --splits 20 --jobs 4 --out DIR`.
#   What came out of that, with nine methods, is in [results](../docs/results/deep-gps.md).
# - `--budget paper`, which is many times larger.
# - All options, limits and metrics: [benchmarks](../docs/benchmark.md).
# - One trial from Python: `gi.benchmark.run_trial("yacht", split=0, method="dgp-global-2")`.
