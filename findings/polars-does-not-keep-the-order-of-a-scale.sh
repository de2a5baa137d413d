#!/usr/bin/env bash
# A scale of pandas has the order of letters in polars
#
# Guess:    a column of pandas with well < ill < dead is ordered so in polars, as it is in Arrow
# Seen:     it becomes a Categorical, which sorts and compares by letters, without a word
# Versions: pandas 3.1.1, polars 2.1.0, pyarrow 26.0.1; Python 3.11.
# Output seen:
#   Arrow's type is ordered: True
#   pandas: ['well', 'ill', 'dead'], worse than well: 2
#   polars: ['dead', 'ill', 'well'], worse than well: 0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pandas
import polars
import pyarrow

scale = pandas.CategoricalDtype(["well", "ill", "dead"], ordered=True)
people = pandas.DataFrame({"state": pandas.Series(["dead", "well", "ill"], dtype=scale)})
frame = polars.from_pandas(people)
in_arrow = pyarrow.Table.from_pandas(people).schema.field("state").type
print("Arrow's type is ordered:", in_arrow.ordered)
found = {
    "pandas": (people.sort_values("state")["state"].to_list(), (people["state"] > "well").sum()),
    "polars": (frame.sort("state")["state"].to_list(), (frame["state"] > "well").sum()),
}
for name, (order, worse) in found.items():
    print(f"{name}: {order}, worse than well: {worse}")
assert found["pandas"] == (["well", "ill", "dead"], 2)
assert found["polars"] == (["dead", "ill", "well"], 0)
assert in_arrow.ordered
PY
