"""A fault in the code, made by replacing a text that occurs once in the package."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "gpflow_gi"


@dataclass(frozen=True)
class Mutation:
    """A fault.

    :param fault: what is wrong then.
    :param old: text that occurs once in the package.
    :param new: what stands there instead.
    :param tests: the files of tests/ that are likely to find it, the likeliest first.
    """

    fault: str
    old: str
    new: str
    tests: str

    def places(self, package: Path = PACKAGE) -> list[Path]:
        """The files that hold the old text, each as often as it does."""
        counts = {path: path.read_text().count(self.old) for path in package.rglob("*.py")}
        return [path for path, count in sorted(counts.items()) for _ in range(count)]

    def apply(self, package: Path) -> Path:
        """Make the fault.

        :param package: the folder of a copy of the package.
        :return: the file that has the fault now.
        :raises ValueError: if the old text does not occur once.
        """
        places = self.places(package)
        if len(places) != 1:
            raise ValueError(f"{self.old!r} must occur once in {package}, not {len(places)} times.")
        places[0].write_text(places[0].read_text().replace(self.old, self.new))
        return places[0]
