"""Run all cases, and print what each kind of bad input got.

python -m tests.bad_inputs [--seconds 300] [--only TEXT] [--areas A,B] [--page]
"""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from .running import run, summary


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bad_inputs")
    parser.add_argument("--seconds", type=float, default=300.0, help="after which a case hangs")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--areas", default="", help="such as metrics,models; all by default")
    parser.add_argument("--page", action="store_true", help="write docs/bad_inputs.md")
    arguments = parser.parse_args()
    if arguments.page:
        from .page import PAGE, page

        PAGE.write_text(page())
        return 0
    areas = tuple(filter(None, arguments.areas.split(",")))
    results = run(arguments.seconds, arguments.only, areas)
    print(summary(results))
    return int(any(result[3] not in ("words", "answer") for result in results))


if __name__ == "__main__":
    sys.exit(main())
