#!/usr/bin/env bash
# Sketches of two columns with the same people count each person twice if one column has a gap
#
# Guess:    ids 1, 2 and 3 are the same three in both columns
# Seen:     pandas makes fractions of a column with a gap, and a sketch takes 1.0 for somebody else
#           than 1, unlike a set of Python; an empty text is counted as nobody
# Versions: datasketches 5.2.0, pandas 3.1.1; Python 3.11.
# Output seen:
#   set 3; hll_sketch 6, cpc_sketch 6, update_theta_sketch 6
#   a text and an empty one: set 2; hll_sketch 1, cpc_sketch 1, update_theta_sketch 1
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check datasketches==5.2.0 pandas==3.1.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import datasketches
import pandas as pd


def counted(values: list) -> list:
    """Return how many distinct values a set and three sketches count."""
    sketches = [
        datasketches.hll_sketch(12),
        datasketches.cpc_sketch(12),
        datasketches.update_theta_sketch(12),
    ]
    for sketch in sketches:
        for value in values:
            sketch.update(value)
    return [len(set(values)), *(round(sketch.get_estimate()) for sketch in sketches)]


full, gap = pd.Series([1, 2, 3]), pd.Series([1, 2, None, 3])
people = counted([*full.tolist(), *gap.dropna().tolist()])
texts = counted(["ann", ""])
names = "set {}; hll_sketch {}, cpc_sketch {}, update_theta_sketch {}"
print(names.format(*people))
print("a text and an empty one: " + names.format(*texts))
assert people == [3, 6, 6, 6]
assert texts == [2, 1, 1, 1]
PY
