"""Metadata that depend on the address of the repository: URLs, and the README's links.

On GitHub the README's links and pictures are paths. On a package index they must be addresses: set
``GPFLOW_GI_URL=https://github.com/OWNER/NAME`` to build with them. Without it the links stay paths,
and there are no URLs. Everything else is in pyproject.toml.
"""

import os
import re
from pathlib import Path

from setuptools import setup


def with_addresses(text: str, url: str) -> str:
    """Markdown whose relative links lead to files of a repository's main branch.

    :param url: the address of the repository, ``https://github.com/OWNER/NAME``.
    """
    text = re.sub(r"(!\[[^\]]*\]\()(?![a-z]+:|#)", rf"\g<1>{url}/raw/main/", text)
    return re.sub(r"((?<!\!)\[[^\]]*\]\()(?![a-z]+:|#)", rf"\g<1>{url}/blob/main/", text)


if __name__ == "__main__":
    url = os.environ.get("GPFLOW_GI_URL", "").rstrip("/")
    readme = Path(__file__).with_name("README.md").read_text("utf-8")
    pages = {
        "Documentation": "docs/index.md",
        "Changes": "CHANGELOG.md",
        "Source": "",
    }
    setup(
        long_description=with_addresses(readme, url) if url else readme,
        long_description_content_type="text/markdown",
        project_urls={
            name: f"{url}/blob/main/{page}" if page else url for name, page in pages.items()
        }
        if url
        else {},
    )
