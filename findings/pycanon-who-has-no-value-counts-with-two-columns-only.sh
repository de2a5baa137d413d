#!/usr/bin/env bash
# Who has no value counts for k of pycanon with two columns, and does not with one
#
# Guess:    a further quasi-identifier that is the same within each class leaves k as it is
# Seen:     somebody whose age is missing is in no class by age, and alone in one by age and city
# Versions: pycanon 1.3.6, pandas 2.3.3; Python 3.11.
# Output seen:
#   k by age 2, by age and city 1
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

ages, cities = ["30", "30", "40", "40", None], list("aabbb")
table = pandas.DataFrame({"age": ages, "city": cities, "illness": list("xyxyz")})
one = anonymity.k_anonymity(table, ["age"])
two = anonymity.k_anonymity(table, ["age", "city"])
print(f"k by age {one}, by age and city {two}")
assert one == 2
assert two == 1
PY
