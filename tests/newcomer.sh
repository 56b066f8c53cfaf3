#!/usr/bin/env bash
# A first session, in a fresh clone and environment: install, demo, a messy table of one's own through
# compare, save and predict, an estimator on a data frame, a notebook. Prints the time of each step, and
# fails at the first error or traceback.
#
#     tests/newcomer.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3.11}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

step() {
    local name=$1 started=$SECONDS
    shift
    if ! "$@" >"$log" 2>&1 || grep -q "Traceback (most recent call last)" "$log"; then
        cat "$log"
        echo "$name failed" >&2
        exit 1
    fi
    printf '%-28s %4d s\n' "$name" $((SECONDS - started))
}

step "clone" git clone --quiet . "$work/clone"
cd "$work/clone"
export TF_CPP_MIN_LOG_LEVEL=3
step "install" make .venv/package PYTHON="$python"
step "demo" make demo
test -s gpflow-gi-results/elevation/map.png

# 300 rows with a decimal comma, a date, a category, a truth value, gaps and a constant column.
"$python" - "$work" <<'PY'
import random
import sys
from datetime import date, timedelta

random.seed(0)
lines = ["id;price;size;sold on;district;garden;country"]
for i in range(300):
    size, district = random.uniform(30, 150), random.choice("north south west".split())
    garden, day = random.random() < 0.4, date(2023, 1, 1) + timedelta(days=random.randrange(700))
    price = 1000 + 20 * size + 500 * (district == "north") + 300 * garden + random.gauss(0, 100)
    shown = "" if i % 17 == 0 else f"{size:.1f}".replace(".", ",")
    number = f"{price:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")
    lines.append(f"{i};{number};{shown};{day};{district};{'yes' if garden else 'no'};FR")
open(f"{sys.argv[1]}/houses.csv", "w").write("\n".join(lines) + "\n")
PY
refused() {
    if .venv/bin/gpflow-gi compare --data "$work/houses.csv" --target price --drop id; then
        return 1
    fi
}
step "compare says what is missing" refused
grep -q "size" "$log"
step "compare" .venv/bin/gpflow-gi compare --data "$work/houses.csv" --target price --drop id \
    --impute median --steps 500 --out "$work/comparison" --save "$work/models"
test -s "$work/comparison/results.json"
step "predict" .venv/bin/gpflow-gi predict "$work/models/dgp-global.gi" \
    --data "$work/houses.csv" --out "$work/predicted.csv" --keep id
test "$(wc -l <"$work/predicted.csv")" = 301

cat >"$work/frame.py" <<'PY'
import sys

import pandas as pd

from gpflow_gi.estimators import DeepGPRegressor

frame = pd.read_csv(sys.argv[1], sep=";", decimal=",", thousands=".", parse_dates=["sold on"])
frame = frame.dropna()
X, y = frame[["size", "district", "sold on"]], frame["price"]
model = DeepGPRegressor(random_state=0, steps=500).fit(X[:-50], y[:-50])
score = model.score(X[-50:], y[-50:])
print(list(model.feature_names_in_), score)
assert score > 0.8
PY
step "estimator on a data frame" .venv/bin/python "$work/frame.py" "$work/houses.csv"

step "install for development" make .venv/development PYTHON="$python"
step "notebook" .venv/bin/python tutorials/execute.py tutorials/a_network_is_a_deep_gp.pct.py
