#!/usr/bin/env bash
# anjana leaves out whoever has the row number of somebody who must go
#
# Guess:    of two tables put together, those who are in too small a class go, and nobody else
# Seen:     pandas keeps the row numbers of both tables; each person with the number of one
#           who goes is left out, too: half of all where at most 30 in 100 were allowed
# Versions: anjana 1.2.3, pandas 2.3.3; Python 3.11.
# Output seen:
#   numbered anew: 6 of 8 left, ages 20 20 20 40 40 40
#   as pandas puts them together: 4 of 8 left, ages 20 20 40 40
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check anjana==1.2.3 pandas==2.3.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pandas as pd
from anjana.anonymity import k_anonymity

ages = ["20", "20", "20", "40", "40", "40", "71", "60"]
steps = {"age": {0: ages, 1: ["*"] * len(ages)}}
people = pd.DataFrame({"name": list("abcdefgh"), "age": ages})
halves = [people.iloc[:4], people.iloc[4:].reset_index(drop=True)]


def left(table: pd.DataFrame) -> list:
    """Return ages of whoever is left in classes of two and more."""
    return k_anonymity(table, ["name"], ["age"], 2, 30, steps)["age"].tolist()


anew, together = left(pd.concat(halves, ignore_index=True)), left(pd.concat(halves))
print(f"numbered anew: {len(anew)} of 8 left, ages", *anew)
print(f"as pandas puts them together: {len(together)} of 8 left, ages", *together)
assert anew == ages[:6]
assert together == ["20", "20", "40", "40"]
PY
