#!/usr/bin/env bash
# Each percentile of whole numbers is 0 in PyDP, even where all are from 2 to 8
#
# Guess:    with a huge epsilon the middle of 3,500 numbers of friends is theirs, and within the bounds
# Seen:     for dtype int, which is the default, the answer is 0.0 whatever percentile is asked for, below
#           the lower bound; fractions are right, and so is the class for the median alone
# Docs:     take a percentile and a dtype together and say nothing of this
# Versions: python-dp 1.1.5; Python 3.11.
# Output seen:
#   0.2: whole 0.0, fractions 3
#   0.5: whole 0.0, fractions 5
#   0.9: whole 0.0, fractions 8
#   Median: 5
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check python-dp==1.1.5
cd "$room"
"$room/venv/bin/python" - <<'PY'
from pydp.algorithms.laplacian import Median, Percentile

friends = [2, 3, 4, 5, 6, 7, 8] * 500
bounds = {"epsilon": 1e6, "lower_bound": 1, "upper_bound": 10}
for share, near in ((0.2, 3), (0.5, 5), (0.9, 8)):
    whole = Percentile(percentile=share, **bounds).quick_result(friends)
    fractions = Percentile(percentile=share, dtype="float", **bounds).quick_result(
        [float(number) for number in friends]
    )
    print(f"{share}: whole {whole}, fractions {fractions:.0f}")
    assert whole == 0
    assert abs(fractions - near) < 0.4
median = Median(dtype="int", **bounds).quick_result(friends)
print("Median:", median)
assert median == 5
PY
