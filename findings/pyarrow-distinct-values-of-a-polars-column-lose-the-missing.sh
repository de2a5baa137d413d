#!/usr/bin/env bash
# Distinct values of a column from polars have an empty text for what is missing
#
# Guess:    unique() of a pyarrow column keeps a missing value as None, whatever kind of text it holds
# Seen:     columns that pyarrow.table makes of a polars frame are string_view;
#           unique() and value_counts() turn what is missing into an empty text
# Versions: pyarrow 26.0.1, polars 2.1.0; Python 3.11.
# Output seen:
#   string_view: 1 missing, unique ['well', '', 'ill']
#   string: 1 missing, unique ['well', None, 'ill']
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 polars==2.1.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import polars
import pyarrow

values = ["well", None, "ill"]
column = pyarrow.table(polars.DataFrame({"health": values}))["health"]
plain = pyarrow.chunked_array([values])
for each in (column, plain):
    print(f"{each.type}: {each.null_count} missing, unique {each.unique().to_pylist()}")
assert column.unique().to_pylist() == ["well", "", "ill"]
assert [each["values"] for each in column.value_counts().to_pylist()] == ["well", "", "ill"]
assert plain.unique().to_pylist() == values
PY
