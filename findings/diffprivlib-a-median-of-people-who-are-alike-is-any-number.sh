#!/usr/bin/env bash
# The median of people who all have five friends is any number in diffprivlib
#
# Guess:    the more people have one value, the closer the private median is to it
# Seen:     a value is drawn from between the values of two people, so one that many share is never
#           near: with each shifted a little (by less than 0.001) the median is found
# Versions: diffprivlib 0.6.6, scikit-learn 1.5.2; Python 3.11.
# Output seen:
#   999 have 5: 8.58 3.60 0.13 8.54 7.74 4.35
#   600 have 1, 399 have 9: 6.72 6.76 1.21 6.67 5.38 7.97
#   999 have nearly 5: 5.00 5.00 5.00 5.00 5.00 5.00
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check diffprivlib==0.6.6 scikit-learn==1.5.2
cd "$room"
"$room/venv/bin/python" - <<'PY'
from diffprivlib.tools import median


def medians(friends: list) -> list:
    """Return six private medians of numbers between 0 and 10."""
    draws = (median(friends, epsilon=1, bounds=(0, 10), random_state=seed) for seed in range(6))
    return [float(each) for each in draws]


found = {
    "999 have 5": medians([5.0] * 999),
    "600 have 1, 399 have 9": medians([1.0] * 600 + [9.0] * 399),
    "999 have nearly 5": medians([5 + person / 1e6 for person in range(999)]),
}
for case, drawn in found.items():
    print(f"{case}:", *(f"{each:.2f}" for each in drawn))
alike, two, nearly = found.values()
assert min(alike) < 1
assert max(alike) > 8
assert sum(each > 2 for each in two) > 3
assert all(5 <= each < 5.001 for each in nearly)
PY
