"""Tables that the scripts of this folder compute from trials, in the pages that show them.

python docs/results/tables.py

Writes each table into its page, in place of the first table after its words.
"""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent

FIRST_PAGE = HERE.parents[1] / "README.md"

FIRST_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def script(path: str) -> SimpleNamespace:
    """The names that a script of this folder defines."""
    return SimpleNamespace(**runpy.run_path(str(HERE / path)))


def computed() -> dict[str, str]:
    """Tables in Markdown, by words that occur once in all pages, before the table."""
    figures, forms = script("standard/figures.py"), script("standard/all_forms.py")
    optimal, warm_up = script("optimal-gp/table.py"), script("warm-up/table.py")
    draws = script("draws/table.py")
    networks, variants = script("standard/networks.py"), script("standard/variants.py")
    rates, coverage = script("rates/table.py"), script("standard/coverage.py")
    five, doubled = script("standard/five_layers.py"), script("doubled/table.py")
    chains, twenty = script("chains/table.py"), script("twenty/table.py")
    calibration = script("standard/calibration.py")
    ard, ranks = script("ard/table.py"), script("standard/ranks.py")
    steps, settings = doubled.compared(), script("settings/table.py")
    several, first, two, three = figures.several_splits, figures.first_splits, *figures.DEPTHS
    of_figures = {
        "with fixed inducing inputs. The bound per row:": several("elbo", two),
        "The test log density on these splits:": several("log_density", two),
        "The bound per row of three layers:": several("elbo", three),
        "The test log density of three layers:": several("log_density", three),
        "each method at its best rate; the bound per row:": first("elbo", two),
        "The test log density of the same models:": first("log_density", two),
        "Three layers on the same sets": first("elbo", three),
        "The test log density of these models:": first("log_density", three),
        "From the report, means over splits 0 to 4 of yacht": figures.means_of_all("yacht"),
    }
    of_optimal = {
        "The bounds with and without an optimal last layer:": ("elbo", 2),
        "The test log densities with and without it:": ("log_density", 2),
        "The bounds of three layers with and without it, on the first split:": ("elbo", 3),
        "The test log densities of three layers with and without it:": ("log_density", 3),
    }
    first_warm_ups, energy = warm_up.page_tables()
    return {
        "each in the best of the [forms]": forms.in_short(),
        "both in the best of the forms": forms.in_short(),
        "p is not corrected here for the number of sets.\n\n": forms.markdown(2),
        "Three layers in all forms with five splits:": forms.markdown(3),
        "On them, the forms of [the table of two layers]": forms.fresh_markdown(2),
        "Three layers, in the forms of [their table]": forms.fresh_markdown(3),
        "ranks by bound and by test log density, 1 is the best of nine:": ranks.markdown(),
        "in the last column [bayesian_benchmarks]": forms.gains_markdown(),
        "## Published bounds": forms.published_markdown(),
        **{words: figures.markdown(table) for words, table in of_figures.items()},
        **{
            words: optimal.markdown(optimal.compared(metric, depth))
            for words, (metric, depth) in of_optimal.items()
        },
        "by method, number of steps and learning rate:": optimal.naval_markdown(),
        "each step has 500 rows. The bound per row, and": optimal.of_minibatches_markdown(),
        "The first split, each method at its best rate of three:": first_warm_ups,
        "Energy, means over five": energy,
        "and test log densities by the number of draws:": draws.first_split_markdown(),
        "Means over five splits with one draw and with four:": draws.means_markdown(),
        "differences of divided rows to one draw:": variants.markdown("-divided"),
        "differences of half own points to none:": variants.markdown("-own"),
        "and may gain more below it:": rates.markdown(rates.at_rates("dgp")),
        "Networks on naval:": rates.markdown(rates.at_rates("bnn")),
        "Gains of the bound per row by twice the steps:": doubled.markdown(steps),
        "The bound per row on the first split, by the number of": doubled.markdown_of_longer(),
        "below the usual three; their bounds and gains:": doubled.markdown_of_gains(
            doubled.other_forms(steps)
        ),
        "at the best rate after 3000 steps; wine has not": doubled.markdown_of_gains(
            doubled.with_optimal_last_layers()
        ),
        "20,000 steps), in the bound per row of the first": doubled.markdown_of_leads(steps),
        "which were run at one rate, like all other rows with changes:": settings.markdown(
            settings.trials("5")
        ),
        "Protein, the first split, at the best rate of three without changes:": settings.markdown(
            settings.trials("[23]")
        ),
        "central intervals of 50% and of 95%, in percent:": calibration.coverage_markdown(),
        "0.313 / √n for n test rows:": calibration.errors_markdown(),
        "Numbers of splits that have been run": coverage.markdown(coverage.counts()),
        "The bound per row of networks over five splits:": networks.markdown(
            networks.table_of("elbo")
        ),
        "minus that of the best of the four posteriors:": networks.over_best_markdown(),
        "The test log density of networks over five splits:": networks.markdown(
            networks.table_of("log_density")
        ),
        **{
            f"Means over splits 0 to 19 of {name}, and their standard errors.": twenty.means(name)
            for name in twenty.complete()
        },
        "Differences on splits 5 to 19.": twenty.compared(),
        "Published means, and ours over five splits": chains.over_sparse_gp_markdown(),
        "on the first split of chains and": chains.first_split_markdown(),
        "Mean test log densities of two layers with the bound's term:": (
            chains.chains_compared_markdown()
        ),
        "Differences of the two terms,": chains.gains_markdown(),
        "Test rows of five splits, for the sets that have them:": chains.by_terms_markdown(),
        "of the first split is held out (": chains.held_out_markdown(),
        "by the scale of the prior and the number of hidden layers:": ard.first_split_markdown(),
        "the bound per row by scales and depth:": ard.means("elbo"),
        "Their test log density over ten splits:": ard.means("log_density"),
        "The bound per row of five layers over five splits:": five.markdown(five.compared("elbo")),
        "fifteen splits, and their standard errors; first the bounds:": five.fresh_markdown(),
        "The test log density of five layers over five splits:": five.markdown(
            five.compared("log_density")
        ),
    }


def written(pages: dict[Path, str], words: str, table: str) -> dict[Path, str]:
    """Pages with this table after these words.

    :param pages: texts by files.
    :raises ValueError: if the words do not occur exactly once in all pages.
    """
    places = [(path, text.index(words)) for path, text in pages.items() if words in text]
    if len(places) != 1 or pages[places[0][0]].count(words) != 1:
        raise ValueError(f"{words!r} must occur once in all pages; found in {places}.")
    path, place = places[0]
    found = FIRST_TABLE.search(pages[path], place)
    if found is None:
        raise ValueError(f"There is no table after {words!r} in {path}.")
    text = pages[path]
    return pages | {path: f"{text[: found.start()]}{table}\n{text[found.end() :]}"}


def pages() -> dict[Path, str]:
    """Texts of the pages of this folder and of the first page, by files."""
    return {path: path.read_text("utf-8") for path in (FIRST_PAGE, *sorted(HERE.glob("*.md")))}


if __name__ == "__main__":
    texts = pages()
    for words, table in computed().items():
        texts = written(texts, words, table)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
