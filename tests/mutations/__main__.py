"""Make faults in copies of the code, and see whether the fast tests find them.

python -m tests.mutations [--list] [--only NUMBER ...] [--likely] [--out FILE]

All of it takes an hour on one core. What is in FILE already is not tried again.
"""

import argparse
import sys
from pathlib import Path

from .listing import MUTATIONS
from .mutation import PACKAGE
from .running import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument(
        "--list", action="store_true", help="only say what and where the faults are"
    )
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="0: no fault at all")
    parser.add_argument("--likely", action="store_true", help="only the tests that should find it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="of JSON lines")
    arguments = parser.parse_args()
    numbers = arguments.only or range(1, len(MUTATIONS) + 1)
    if not all(0 <= number <= len(MUTATIONS) for number in numbers):
        parser.error(f"numbers go from 0 to {len(MUTATIONS)}")
    if arguments.list:
        return show()
    results = run(numbers, arguments.out, arguments.likely)
    found = sum(bool(result["found_by"]) for result in results)
    print(f"{found} of {len(results)} found.")
    return int(found < len(results))


def show() -> int:
    """Print the list; 1 if a text does not occur once."""
    wrong = 0
    for number, mutation in enumerate(MUTATIONS, start=1):
        places = mutation.places()
        wrong += len(places) != 1
        where = ", ".join(str(path.relative_to(PACKAGE)) for path in places) or "NOWHERE"
        print(f"{number:2} {mutation.fault} ({where})")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
