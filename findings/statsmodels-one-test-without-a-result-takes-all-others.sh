#!/usr/bin/env bash
# One test without a result takes the results of all others in statsmodels
#
# Guess:    a p-value that is NaN (an attribute that all share) is left out of the correction
# Seen:     it is counted: by Benjamini and Hochberg no corrected value is left, though two of
#           them are still called significant; by Holm those two are not; pingouin leaves it out
# Versions: statsmodels 0.15.0, pingouin 0.7.0; Python 3.11.
# Output seen:
#   fdr_bh: statsmodels [nan, nan, nan, nan], significant 3; pingouin [0.003, nan, 0.03, 0.03], 3
#   holm: statsmodels [0.004, nan, 0.06, 0.06], significant 1; pingouin [0.003, nan, 0.04, 0.04], 3
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 pingouin==0.7.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pingouin
from statsmodels.stats.multitest import multipletests

values = [0.001, float("nan"), 0.02, 0.03]
found = {}
for method in ("fdr_bh", "holm"):
    told, corrected = multipletests(values, method=method)[:2]
    others, left = pingouin.multicomp(values, method=method)
    found[method] = (
        [round(float(each), 3) for each in corrected],
        int(sum(told)),
        [round(float(each), 3) for each in left],
        int(sum(others)),
    )
    first, ours, second, theirs = found[method]
    print(f"{method}: statsmodels {first}, significant {ours}; pingouin {second}, {theirs}")
assert str(found["fdr_bh"]) == "([nan, nan, nan, nan], 3, [0.003, nan, 0.03, 0.03], 3)"
assert str(found["holm"]) == "([0.004, nan, 0.06, 0.06], 1, [0.003, nan, 0.04, 0.04], 3)"
PY
