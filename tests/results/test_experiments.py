"""The numbers of docs/experiments.md are those of the records."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.experiments import images, study
from gpflow_gi.experiments.global_local import MEASURES
from tests.results.pages import RESULTS, rows_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow


def global_local():
    return json.loads((RESULTS / "global-local.json").read_text("utf-8"))


EXPERIMENTS = (RESULTS.parent / "experiments.md").read_text("utf-8")


RECORDS_OF_EXPERIMENTS = [
    RESULTS / "global-local.json",
    *sorted((RESULTS / "experiments").glob("*.json")),
]


@pytest.mark.parametrize("path", RECORDS_OF_EXPERIMENTS, ids=lambda path: path.stem)
def test_the_tables_of_experiments(path):
    results = json.loads(path.read_text("utf-8"))
    assert not results["options"]["fast"]
    command = re.search(rf"gpflow-gi experiment {results['experiment']}( --\w.*)?\n", EXPERIMENTS)
    assert command
    section = EXPERIMENTS[command.end() :].partition("\n## ")[0]
    section = "\n".join(line.rstrip() for line in section.splitlines())
    table = study.summary(results).partition("\n\n")[0].splitlines()
    assert any("---" in line for line in table[1:3]) and len(table) > 3
    assert "\n".join(f"    {line}".rstrip() for line in table) in section


def test_what_is_said_of_densities():
    results = json.loads((RESULTS / "experiments" / "densities.json").read_text("utf-8"))
    density = {
        problem["name"]: {one["name"]: one["log_density"] for one in problem["methods"]}
        for problem in results["problems"]
    }
    words, families = " ".join(EXPERIMENTS.split()), ("global", "local")
    gains = [one[f"{f}, latent, IW"] - one[f] for one in density.values() for f in families]
    said = f"Log densities are {min(gains):.2f} to {max(gains):.2f} nats a row above those without"
    assert said in words
    step = density["step"]
    more = {f: step[f"{f}, latent, ELBO"] - step[f"{f}, latent, IW"] for f in families}
    assert f"nearly as much (local: more, by {more['local']:.2f})" in words
    assert -0.1 < more["global"] < 0
    gap = {n: one["global, latent, IW"] - one["local, latent, IW"] for n, one in density.items()}
    said = f"bound differ by {abs(gap['bimodal']):.2f} on the bimodal data and by"
    said += f" {abs(gap['moons']):.2f} on the moons; on the step the global ones lead by"
    assert f"{said} {gap['step']:.2f}." in words


@pytest.mark.parametrize(
    "case, other, measure, factor, digits, said",
    [
        ("no skips", "local", "elbo", 1000, 0, "37 nats of 1000 rows in the bound"),
        ("no skips", "local", "rmse", -1, 1, "8.6 m of 91.4 m in the error"),
        ("network", "local", "elbo", 1000, 0, "166 nats against local ones"),
        ("network", "factorised", "elbo", 1000, 0, "121 against factorised weights"),
        ("2 layers", "local", "elbo", -1000, 0, "ahead by 12 nats with two layers"),
        ("5 layers", "local", "elbo", -1000, 0, "32 nats and 2.7 m with five"),
        ("10 points", "local", "elbo", -1000, 0, "too: by 11 nats"),
        ("10 points", "local", "rmse", 1, 1, "and 0.4 m."),
    ],
)
def test_what_is_said_of_global_and_local(case, other, measure, factor, digits, said):
    runs = {
        one["inference"]: [run[measure] for run in one["runs"]]
        for one in global_local()["methods"]
        if one["case"] == case
    }
    gain = factor * np.mean(np.subtract(runs["global"], runs[other]))
    assert f"{gain:.{digits}f}" == re.search(r"[\d.]+\d", said).group(0)
    assert said in " ".join(EXPERIMENTS.split())


def test_medians_in_the_gap_of_the_cubic():
    results = json.loads((RESULTS / "experiments" / "posteriors-cubic.json").read_text("utf-8"))
    x, rows = np.array(results["line"]["x"]), np.sort(results["line"]["rows"][0])
    last = np.diff(rows).argmax()
    gap = (rows[last] < x) & (x < rows[last + 1])
    medians = {one["name"]: np.array(one["bands"][0][2])[gap] for one in results["methods"]}
    away = {name: np.abs(one - medians["NUTS"]).mean() for name, one in medians.items()}
    names = ["local", "factorised", "mean-field", "low-rank", "radial", "planar", "mixture of 5"]
    ends = [f(away[name] for name in names) for f in (min, max)]
    said = "their medians there are {:.2f} to {:.2f} from that of NUTS, the MAP estimate {:.2f}."
    assert said.format(*ends, away["MAP"]) in " ".join(EXPERIMENTS.split()) and gap.sum() == 84


def test_what_is_said_of_skip_connections():
    means = {
        (one["case"], one["inference"]): {
            name: np.mean([run[name] for run in one["runs"]]) for name in MEASURES
        }
        for one in global_local()["methods"]
    }
    five, without = means["5 layers", "global"], means["no skips", "global"]
    said = f"raise the bound by {1000 * (five['elbo'] - without['elbo']):.0f} nats, and raise the"
    said += f" error by {five['rmse'] - without['rmse']:.1f} m."
    assert said in " ".join(EXPERIMENTS.split())
    two = means["2 layers", "local"]
    for other in (without, means["no skips", "local"]):
        assert two["elbo"] > other["elbo"] and two["log_density"] > other["log_density"]
        assert two["rmse"] < other["rmse"]


def test_the_tables_of_mnist():
    results = json.loads((RESULTS / "mnist.json").read_text("utf-8"))
    section = EXPERIMENTS.partition("\n### All of MNIST\n")[2].partition("\n## ")[0]
    table, *_, of_sets = images.summary(results).split("\n\n")
    for part in (table, of_sets):
        assert "\n".join(f"    {line}" for line in part.splitlines()) in section
    found = {one["method"]: one for one in results["networks"]}
    bounds = [found[name]["elbo"]["mean"] for name in images.METHODS]
    assert list(np.argsort(bounds)[::-1]) == [3, 1, 2, 0]
    densities = [found[name]["log_density"] for name in ("global", "local")]
    gap = densities[0]["mean"] - densities[1]["mean"]
    assert gap < densities[0]["standard_error"]
    local, ours = (found[f"deep GP, {name}"] for name in ("local", "global"))
    gap = local["elbo"]["mean"] - ours["elbo"]["mean"]
    assert f"deep GPs differ by {gap:.3f}, in favour of local" in " ".join(section.split())
    for one in (local, ours):
        assert -0.109 < one["log_density"]["mean"] < -0.073 and 0.9698 < one["accuracy"] < 0.9794
    outside = {
        name: {"photographs": one["auroc"], **one["further_auroc"]} for name, one in found.items()
    }
    table = pd.DataFrame(outside).T
    assert list(table.columns[table.idxmax() == "global"]) == [
        "photographs", "rotated", "scaled", "letters",
    ]  # fmt: skip
    assert table["scaled"].nlargest(2).diff().abs().max() < 0.001
    assert table.loc[list(images.METHODS), "noise"].max() < 0.05


def test_the_likelihoods_of_deep_gps_of_mnist():
    lines = (RESULTS / "mnist-deep-gps.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    _, *rows = rows_of("docs/experiments.md", "python docs/results/mnist_deep_gps.py OUT.jsonl")
    assert rows == [
        [
            one["posterior"],
            one["likelihood"],
            f"{one['steps']:,}",
            f"{one['log_density']['mean']:.3f} ± {one['log_density']['standard_error']:.3f}",
            f"{100 * one['accuracy']:.2f}",
            f"{one['elbo']:.3f}",
            f"{one['ece']:.3f}",
        ]
        for one in found
    ]
    *multiclass, longer = found
    for one in multiclass:
        # The numbers of the notebook.
        assert one["log_density"]["mean"] > -0.073 and one["accuracy"] > 0.9794
    experiment = json.loads((RESULTS / "mnist.json").read_text("utf-8"))
    (usual,) = (one for one in experiment["networks"] if one["method"] == "deep GP, global")
    gain = longer["elbo"] - usual["elbo"]["mean"]
    change = longer["log_density"]["mean"] - usual["log_density"]["mean"]
    words = " ".join(EXPERIMENTS.split())
    assert (
        f"raise the bound by {gain:.3f}, change the test log density by {change:.3f}, and" in words
    )
    lost = 100 * (usual["accuracy"] - longer["accuracy"])
    assert f"and lower the accuracy by {lost:.2f}%." in words
    usuals = [one for one in experiment["networks"] if one["method"].startswith("deep GP")]
    for one, its in zip(multiclass, usuals, strict=True):
        assert its["method"].endswith(one["posterior"]) and one["auroc"] < its["auroc"]
    ece = max(one["ece"] for one in multiclass)
    assert ece < min(longer["ece"], usual["ece"])
    density = min(one["log_density"]["mean"] for one in multiclass)
    assert density > max(longer["log_density"]["mean"], usual["log_density"]["mean"])


def test_networks_predict_better_with_factorised_weights():
    means = {
        one["inference"]: [np.mean([run[name] for run in one["runs"]]) for name in MEASURES]
        for one in global_local()["methods"]
        if one["case"] == "network"
    }
    (elbo, density, rmse), (other_elbo, other_density, other_rmse) = (
        means["global"],
        means["factorised"],
    )
    assert elbo > other_elbo and density < other_density and rmse > other_rmse
