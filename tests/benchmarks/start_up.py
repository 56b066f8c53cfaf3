"""Time from nothing to the first training step, in fresh interpreters.

python -m tests.benchmarks.start_up [--out FOLDER] [--fast]
"""

import json
import subprocess
import sys

import numpy as np

from .report import Table, machine, parser, write

CODE = """
import json, time
seconds = {}
def took(what):
    global last
    now = time.perf_counter()
    seconds[what] = now - last
    last = now
last = time.perf_counter()
%s
print(json.dumps(seconds))
"""

IMPORTS = """
import gpflow
took("import gpflow")
import gpflow_gi as gi
gi.architectures, gi.layers, gi.models, gi.posteriors, gi.fit
took("import gpflow_gi after it")
"""

FIRST_STEP = """
import numpy as np
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 6)), rng.normal(size=(300, 1))
last = time.perf_counter()
model = gi.architectures.build_deep_gp(X, Y, inference="{inference}")
took("build_deep_gp, {inference}")
gi.fit(model, (X, Y), steps=1, progress=False)
took("first step of gi.fit, {inference}")
gi.fit(model, (X, Y), steps=1, progress=False)
took("the same of a second call, {inference}")
model = gi.architectures.build_deep_gp(X, Y, inference="{inference}")
last = time.perf_counter()
gi.fit(model, (X, Y), steps=1, progress=False)
took("the same of another model, {inference}")
"""

FIVE_LAYERS = """
import numpy as np
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 6)), rng.normal(size=(300, 1))
last = time.perf_counter()
model = gi.architectures.build_deep_gp(X, Y, num_layers=5)
took("build_deep_gp, global, 5 layers")
gi.fit(model, (X, Y), steps=1, progress=False)
took("first step of gi.fit, global, 5 layers")
"""

PROGRAMS = {
    "alone": 'import gpflow_gi\ntook("import gpflow_gi, of which nothing is used")\n',
    "all": IMPORTS.replace("gi.architectures, gi.layers, gi.models, gi.posteriors, gi.fit", "")
    + '[getattr(gi, name) for name in dir(gi)]\ntook("all of its submodules after it")\n',
    **{
        inference: IMPORTS + FIRST_STEP.format(inference=inference)
        for inference in ("global", "local")
    },
    "five layers": IMPORTS + FIVE_LAYERS,
}

TO_THE_FIRST_STEP = ("import gpflow", "import gpflow_gi after it", "build_deep_gp", "first step")
FIVE_OF_TWO = "imports to first step, 5 layers as a multiple of 2"

GOALS = {
    "import gpflow_gi after it": "at most 0.3",
    "first step of gi.fit, global": "at most 3",
    "first step of gi.fit, local": "at most 3",
    "the same of a second call, global": "at most 0.3",
    "the same of another model, global": "at most 0.3",
    FIVE_OF_TWO: "at most 1.4",
}


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 1 if options.fast else 7
    order = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        totals = {}
        for name in order.permutation(list(PROGRAMS)):
            found = in_fresh_interpreter(PROGRAMS[str(name)])
            totals[name] = sum(
                took for what, took in found.items() if what.startswith(TO_THE_FIRST_STEP)
            )
            for what, took in found.items():
                seconds.setdefault(what, []).append(took)
        seconds.setdefault(FIVE_OF_TWO, []).append(totals["five layers"] / totals["global"])
    rows = []
    for what, values in sorted(seconds.items()):
        low, median, high = np.percentile(values, [25, 50, 75])
        rows.append([what, f"{median:.2f}", f"{low:.2f} to {high:.2f}", GOALS.get(what, "")])
    parts = [
        machine("gpflow", "tensorflow", "numpy"),
        "Fresh interpreters, their programs in a shuffled order. What is imported of gpflow_gi is "
        "what building and training a model takes; submodules are imported when they are first "
        "used. Models: 300 rows x 6, 2 layers if nothing else is said, M=100, S=1, float64; the "
        "first step includes tracing and compiling.",
        Table(("", "seconds or ratio", "quartiles", "goal"), rows),
        f"Medians, with quartiles over {rounds} rounds.",
    ]
    write(options.out, "start-up", "Start-up", parts, {"seconds": seconds})


def in_fresh_interpreter(code: str) -> dict[str, float]:
    """Run code that says what took how long, and read that."""
    command = [sys.executable, "-c", CODE % code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
