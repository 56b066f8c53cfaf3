"""The figures of docs/gallery.md, from the code above each: ``python docs/gallery.py``."""

import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "gallery.md"

RESOLUTION = 130
"""In dots per inch."""


def sections() -> list[tuple[str, str | None]]:
    """The page's blocks of Python, each with the name of the figure below it, if there is one."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE):
        code = "\n".join(re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE))
        if code:
            figure = re.search(r"^!\[[^\]]+\]\(images/([\w-]+\.png)\)$", section, re.MULTILINE)
            found.append((code, figure and figure.group(1)))
    return found


def main(folder: Path = HERE / "images") -> None:
    """Run the page, and write its figures to a folder."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    for code, figure in sections():
        exec(code, names)
        if figure:
            names["figure"].savefig(folder / figure, dpi=RESOLUTION)


if __name__ == "__main__":
    main()
