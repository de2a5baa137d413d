#!/usr/bin/env bash
# pycanon has entropy l-diversity 1 where two values are evenly spread
#
# Guess:    where every class has n values, each as often, entropy l-diversity is n
# Seen:     the power of e is rounded down: what comes out a little below n counts as n - 1
# Versions: pycanon 1.3.6, numpy 2.0.2, pandas 2.3.3; Python 3.11.
# Output seen:
#   values: entropy l-diversity {2: 1, 3: 2, 4: 3, 5: 5, 6: 5, 7: 6}
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pycanon==1.3.6 numpy==2.0.2 pandas==2.3.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pandas
from pycanon import anonymity

found = {}
for count in range(2, 8):
    ages = ["30"] * count + ["40"] * count
    table = pandas.DataFrame({"age": ages, "illness": [*range(count)] * 2})
    table["illness"] = table["illness"].astype(str)
    assert anonymity.l_diversity(table, ["age"], ["illness"]) == count
    found[count] = int(anonymity.entropy_l_diversity(table, ["age"], ["illness"]))
print("values: entropy l-diversity", found)
assert found == {2: 1, 3: 2, 4: 3, 5: 5, 6: 5, 7: 6}
PY
