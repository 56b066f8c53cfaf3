#!/usr/bin/env bash
# What is uploaded: built, checked, installed in a fresh environment, and tested from the sdist.
#
#     GPFLOW_GI_URL=https://github.com/OWNER/NAME tests/dist.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet build twine
rm -rf dist
"$work/tools/bin/python" -m build --outdir dist .
"$work/tools/bin/python" -m twine check --strict dist/*

"$python" -m venv "$work/fresh"
"$work/fresh/bin/python" -m pip install "$(ls dist/*.whl)[dev]"
tar -xf dist/*.tar.gz -C "$work"
cd "$work"/gpflow_gi-*
rm -rf gpflow_gi  # what is tested is what was installed
"$work/fresh/bin/gpflow-gi" --version
"$work/fresh/bin/python" -m pytest -q -m "not slow and not longest"
