"""The documentation: links lead somewhere, every public name has its page, examples run."""

import inspect
import re
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import gpflow
import matplotlib
import numpy as np
import pytest
from docutils.utils.math import MathError
from PIL import Image

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.methods import METHODS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not {"_build", "tutorials"} & set(page.relative_to(DOCS).parts)
    ),
]


def prose(page):
    """A page without its code."""
    text = page.read_text("utf-8")
    text = re.sub(r"^(`{3,}|:{3,}).*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(    .*\n)+", "", text, flags=re.MULTILINE)
    return text


def without_code(text):
    return re.sub(r"`[^`\n]+`", "code", text)


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    names = []
    for title in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
        names.append(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    assert not [
        name for name, times in Counter(names).items() if times > 1 and page.stem != "report"
    ]
    return names


def broken_links(page):
    """Links to files that are not there, or to headings that are not in them."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(prose(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    assert not list(broken_links(page))


@pytest.mark.parametrize(
    "text, complaints",
    [
        ("[a](other.md#two-words)", []),
        ("[a](other.md)  [b](https://example.org)", []),
        ("`[a](none.md)`\n\n    [a](none.md)\n\n```\n[a](none.md)\n```\n", []),
        ("# Here\n\n[a](#here)", []),
        ("[a](none.md)", ["none.md: no such file"]),
        ("[a](other.md#three)", ["other.md#three: no such heading"]),
        ("![a](none.png)", ["none.png: no such file"]),
    ],
)
def test_broken_links_are_found(text, complaints, tmp_path):
    (tmp_path / "other.md").write_text("# One\n\n## Two `words`\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    assert list(broken_links(page)) == complaints


def test_every_submodule_has_a_page():
    for name in gi._SUBMODULES:
        page = (DOCS / "api" / f"{name}.md").read_text("utf-8")
        assert f".. automodule:: gpflow_gi.{name}\n" in page
    top = (DOCS / "api" / "top.md").read_text("utf-8")
    for name in gi._FUNCTIONS:
        assert f".. autofunction:: gpflow_gi.{name}\n" in top


def test_every_public_name_has_a_docstring():
    for module in gi._SUBMODULES:
        module = getattr(gi, module)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, type) or inspect.isfunction(value):
                assert value.__doc__, f"{module.__name__}.{name}"


def extension(name):
    """A module of the site, which is no part of the package."""
    spec = spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_equations_become_mathml():
    mathml = extension("mathml").to_mathml(r"\log \frac{p(z)}{q(z)}", True)
    assert "<mfrac>" in mathml and 'display="block"' in mathml
    assert "→" in extension("mathml").to_mathml(r"\{x\} \rightarrow y", False)


@pytest.mark.parametrize(
    "tex, spaces",
    [
        (r"\log p", 1),
        (r"= \log p", 1),
        (r"(\log p)", 1),
        (r"p \log p", 2),
        (r"E_q \log p", 2),
        (r"q(x) \log p", 2),
    ],
)
def test_a_function_stands_apart_from_its_factors_alone(tex, spaces):
    assert extension("mathml").to_mathml(tex, False).count("<mspace") == spaces


def test_bars_are_brackets_and_conditions_are_not():
    mathml = extension("mathml").to_mathml(r"|x| \mid y", False)
    assert mathml.count('lspace="0"') == 2 and "<mo>∣</mo>" in mathml


@pytest.mark.parametrize(
    "inches, dpi, expected", [(12, 100, 720), (12, 150, 720), (6, 100, None), (7.2, 150, None)]
)
def test_wide_figures_say_how_wide_they_must_be(inches, dpi, expected, tmp_path):
    size = (round(inches * dpi), 10)
    Image.new("L", size).save(tmp_path / "figure.png", dpi=(dpi, dpi))
    assert extension("figures").least_width(tmp_path / "figure.png") == expected


def test_signatures_are_short_and_are_python():
    signature = "(x: ~tensorflow.python.framework.tensor.Tensor, y: ~typing.Any = <factory>)"
    returns = "~gpflow_gi.models.deep_gp.DeepGP"
    shortened = extension("api_text").shorten(None, "function", "f", None, None, signature, returns)
    assert shortened == ("(x: ~tf.Tensor, y: Any = ...)", returns)
    assert extension("api_text").shorten(None, "class", "f", None, None, "()", None) == ("()", None)


def test_docstrings_show_warnings_and_nothing_of_pythons_own():
    lines = ["Draw.", "", "Create new instance of Draw(a, b)", ":warns UserWarning: if few."]
    extension("api_text").tidy(None, "class", "f", None, None, lines)
    assert lines == ["Draw.", "", "", ":Warns: **UserWarning** – if few."]


@pytest.mark.parametrize("tex", [r"\nonsense x", r"\frac{1", r"\frac{1}", "x}", r"\left( x", "x_"])
def test_bad_tex_is_noticed(tex):
    with pytest.raises(MathError):
        extension("mathml").to_mathml(tex, False)


@pytest.mark.parametrize(
    "page, before, after",
    [
        ("guide", "[a](../tutorials/bnn.ipynb)", "[a](tutorials/bnn.ipynb)"),
        ("api/models", "[a](../../tutorials/bnn.ipynb)", "[a](../tutorials/bnn.ipynb)"),
        ("tutorials/bnn", "[a](../docs/api/models.md#x)", "[a](../api/models.md#x)"),
        ("guide", "[a](design.md)", "[a](design.md)"),
    ],
)
def test_links_between_pages_and_tutorials(page, before, after):
    source = [before]
    extension("outside_links").rewrite(None, page, source)
    assert source == [after]


def run(page, names):
    """The Python of a page, one block after the other."""
    for block in re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.S | re.M
    ):
        exec(block, names)


@pytest.mark.slow
def test_getting_started_runs(capsys, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    run("getting-started.md", names)
    # 0.1 is the noise's standard deviation, so that no model has a density above 0.88.
    elbo, iwbo, density, local = capsys.readouterr().out.splitlines()
    value = re.compile(r"(-?[\d.]+) ± ([\d.]+)$")
    (elbo, elbo_error), (iwbo, iwbo_error) = (
        map(float, value.match(t).groups()) for t in (elbo, iwbo)
    )
    assert iwbo > elbo - 4 * np.hypot(elbo_error, iwbo_error)
    assert 0.5 < float(density) < 0.9
    assert value.match(local)
    same, model = names["same"], names["network"]
    assert type(same) is type(model)
    # The second model, of data that are scaled and scaled back, predicts the step too.
    mean, variance = names["scaled"].predict_y(
        names["x_scale"].transform(np.array([[-0.5], [0.5]]))
    )
    mean, variance = names["y_scale"].inverse(mean), names["y_scale"].inverse_variance(variance)
    np.testing.assert_allclose(mean, [[-1.0], [1.0]], atol=0.2)
    np.testing.assert_allclose(np.sqrt(variance), 0.1, atol=0.1)


def test_the_guide_has_the_forms_and_the_budget_of_the_results():
    guide = (DOCS / "guide.md").read_text("utf-8")
    names: dict = {}
    exec(re.search(r"^forms = \{.*?^\}$", guide, re.M | re.S)[0], names)
    forms, usual = names["forms"], METHODS["dgp-global-2"].settings
    assert forms.pop("default") == {} and len(forms) == 4
    for form, arguments in forms.items():
        settings = METHODS[f"dgp-global-2-{form}"].settings
        assert {key: one for key, one in settings.items() if usual.get(key) != one} == arguments
    assert "`dgp-global-2-full` and `dgp-global-2-unshared-own`" in guide
    rate, steps = STANDARD.learning_rate, f"{STANDARD.steps:_}"
    assert f"rate = gi.training.LinearTail({rate}, {steps}) " in guide
    said = f'"batch_size": {STANDARD.batch_size}, "kl_warmup": {STANDARD.kl_warmup}'
    assert f'options = {{"steps": {steps}, {said}}}' in guide
    assert STANDARD.last_learning_rate == 0.0  # so that Adam has this beta_2:
    assert "gpflow.keras.tf_keras.optimizers.Adam(beta_2=0.99)" in guide


@pytest.mark.longest
def test_the_mathematics_runs(capsys):
    """And prints what stands below it, but for what another machine's rounding changes."""
    run("mathematics.md", {})
    row = re.compile(r"^ *((?:deep GP|network), \w+) +([\d.]+) +([\d.]+)$", re.MULTILINE)
    said = row.findall((DOCS / "mathematics.md").read_text("utf-8"))
    printed = row.findall(capsys.readouterr().out)
    assert [name for name, *_ in said] == [name for name, *_ in printed] and len(said) == 8
    for (name, *numbers), (_, *others) in zip(said, printed, strict=True):
        # A standard deviation of 1000 samples that were Gaussian would be known to 2%.
        np.testing.assert_allclose(np.float64(numbers), np.float64(others), rtol=0.2, err_msg=name)
    for name, *numbers in printed[4:]:
        one, four = map(float, numbers)
        assert (four < 0.6 * one) == (name in ("deep GP, global", "network, global"))


@pytest.mark.slow
def test_contributing_runs():
    names: dict = {}
    run("contributing.md", names)
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (DOCS / "contributing.md").read_text("utf-8"), re.S | re.M
    )
    assert len(blocks) == 3 and all(len(block.splitlines()) <= 40 for block in blocks)

    # The layer's draws are functions, and posteriors over all weights take it as it is.
    X, Y, prior = names["X"], names["Y"], gi.posteriors.Prior()
    layers = [names["Shortcut"](1, 1, prior)]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(0.1), num_data=20)
    draws = model.sample_functions(3, seed=0)
    np.testing.assert_allclose(draws(X[:5]), draws(X)[:, :5])
    slopes = np.diff(draws(X) - X, axis=1)
    np.testing.assert_allclose(slopes, slopes[:, :1] * np.ones((1, 19, 1)))
    found = gi.inference.laplace(model, (X, Y)).log_evidence
    np.testing.assert_allclose(found, names["gpr"].log_marginal_likelihood())


@pytest.mark.longest
def test_troubleshooting_runs(capsys):
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    model = gi.architectures.build_deep_gp(X, X, num_inducing=5)
    run("troubleshooting.md", {"gi": gi, "gpflow": gpflow, "model": model, "X": X, "Y": X})
    assert "pseudo_precision" in capsys.readouterr().out


@pytest.mark.slow
def test_the_home_page_prints_what_it_says(capsys):
    """But for what another machine's rounding changes."""
    run("index.md", {})
    said = re.search(r"^    ([\d.]+) ± [\d.]+\n    (\[.*)$", (DOCS / "index.md").read_text(), re.M)
    printed = capsys.readouterr().out.splitlines()
    numbers = [
        np.float64(re.findall(r"-?\d+\.\d*", line)) for line in (*said.group(1, 2), *printed)
    ]
    assert abs(numbers[0][0] - numbers[2][0]) < 10  # of 300 rows
    np.testing.assert_allclose(numbers[1], numbers[3], atol=0.2)


def gallery():
    spec = spec_from_file_location("gallery", DOCS / "gallery.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_figure_of_the_gallery_has_its_code():
    page = (DOCS / "gallery.md").read_text("utf-8")
    made = [figure for _, figure in gallery().sections() if figure]
    shown = re.findall(r"\(images/(gallery-[\w-]+\.png)\)", page)
    assert made == shown and len(shown) >= 6
    assert {path.name for path in (DOCS / "images").glob("gallery-*")} == set(shown)


@pytest.mark.longest
@pytest.mark.compiled
def test_the_gallery_is_made_by_its_code(tmp_path):
    gallery().main(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        with Image.open(path) as new, Image.open(DOCS / "images" / path.name) as old:
            assert new.size == old.size
            assert np.asarray(new.convert("L")).std() > 10
    assert len(list(tmp_path.iterdir())) >= 6
