"""Explanations on the pages of a report."""

from .statistics import LEVEL, Ranks

HOW_TO_READ = (
    "Means are over splits of the data into training and test rows; the number of splits is in the "
    "table, and n=… is at a mean of fewer. ± is one standard error over splits. Splits share most "
    "of their rows, so that the true error is rather larger. Tests of two methods allow for that: "
    "the corrected resampled t-test of Nadeau & Bengio (2003), of paired differences.",
    "In a row, the best mean is in bold; it is chosen from the methods with at least half of "
    "the splits. "
    "Methods not to be told from it are marked too: on the splits that a method shares with the "
    f"best, it is not worse by this test at {LEVEL:.0%}. Of one common split nothing can be "
    "told, and nothing is marked.",
    "A failed trial has no part in any mean. Where trials fail on the hard splits alone, a mean of "
    "fewer splits flatters.",
)

DIFFERENCES = (
    "The method of the row minus the method of the column, on the splits that both have; ± is one "
    f"standard error of the paired difference. Coloured if the corrected t-test at {LEVEL:.0%} "
    "tells it from zero; of one split nothing can be told."
)

PUBLISHED = (
    "Printed by their authors, from other code, and partly with other splits, budgets and choices "
    "of hyperparameters: they show where results lie, and are not ranked with the ones above."
)

DOTS = "Bars are one standard error; further right is better."


def of_ranks(ranks: Ranks) -> str:
    """An explanation of the mean ranks."""
    splits = sorted(set(ranks.num_splits.values()))
    over = f"{splits[0]}" if len(splits) == 1 else f"{splits[0]} to {splits[-1]}"
    said = (
        f"Ranks (1 is best) of {ranks.ranks.shape[1]} methods on {ranks.ranks.shape[0]} data sets, "
        f"by their means over the {over} splits that all of them have. Friedman's test that they "
        f"rank alike, with Iman and Davenport's correction: p = {ranks.p_value:.2g}. "
        "A bar joins methods whose mean ranks do not differ "
        f"at the {LEVEL:.0%} level in Nemenyi's test (Demšar 2006)."
    )
    if ranks.left_out:
        said += (
            " Left out, with which less than half of these splits would be shared: "
            f"{', '.join(ranks.left_out)}."
        )
    return said
