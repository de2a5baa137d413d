#!/usr/bin/env bash
# A category without people makes k of pycanon 0
#
# Guess:    k is the size of the smallest class of people, whatever type a column has
# Seen:     with pandas 2 a category that is declared and has nobody is a class of 0 people
# Versions: pycanon 1.3.6, pandas 2.3.3; Python 3.11.
# Output seen:
#   k of texts 2, of categories 0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pycanon==1.3.6 numpy==2.0.2 pandas==2.3.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
import warnings

import pandas
from pycanon import anonymity

warnings.simplefilter("ignore")  # pandas 2 warns that its default will change.
ages = ["30", "30", "40", "40"]
table = pandas.DataFrame({"age": ages, "illness": list("xyxy")})
as_text = anonymity.k_anonymity(table, ["age"])
table["age"] = pandas.Categorical(ages, categories=["30", "40", "50"])
as_category = anonymity.k_anonymity(table, ["age"])
print(f"k of texts {as_text}, of categories {as_category}")
assert as_text == 2
assert as_category == 0
PY
