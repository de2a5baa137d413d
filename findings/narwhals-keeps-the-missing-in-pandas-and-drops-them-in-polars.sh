#!/usr/bin/env bash
# One line of narwhals keeps rows in pandas that it drops in polars
#
# Guess:    narwhals gives one answer for one line, whatever kind of frame it was given
# Seen:     a filter "is not x" keeps rows without a value in pandas, and drops them in polars and pyarrow
# Versions: narwhals 2.29.0, pandas 3.1.1, polars 2.1.0, pyarrow 26.0.1; Python 3.11.
# Output seen:
#   pandas: rows 2, 3
#   polars: rows 3
#   pyarrow: rows 3
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check narwhals==2.29.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import narwhals
import pandas
import polars
import pyarrow

data = {"row": [1, 2, 3], "city": ["Ulm", None, "Bonn"]}
frames = {
    "pandas": pandas.DataFrame(data),
    "polars": polars.DataFrame(data),
    "pyarrow": pyarrow.table(data),
}
kept = {}
for name, frame in frames.items():
    rest = narwhals.from_native(frame, eager_only=True).filter(narwhals.col("city") != "Ulm")
    kept[name] = rest["row"].to_list()
    print(f"{name}: rows {', '.join(map(str, kept[name]))}")
assert kept == {"pandas": [2, 3], "polars": [3], "pyarrow": [3]}
PY
