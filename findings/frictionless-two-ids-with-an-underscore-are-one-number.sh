#!/usr/bin/env bash
# Two people whose ids have an underscore are one number in frictionless
#
# Guess:    a column of ids such as 1_23 is text, as it is for pandas
# Seen:     the underscore is taken for a mark between digits, and goes: 1_23 and 12_3 are both 123;
#           two ids with a comma between them are a place on Earth
# Versions: frictionless 5.21.0, pandas 2.3.3; Python 3.11.
# Output seen:
#   frictionless: integer [123, 123]
#   pandas: ['1_23', '12_3']
#   friends: geopoint [[12.0, 45.0], [7.0, 80.0]]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check frictionless==5.21.0 pandas==2.3.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
from pathlib import Path

import pandas as pd
from frictionless import Resource, describe


def told(text: str) -> tuple:
    """Return type and values of the only column of a table."""
    Path("people.csv").write_text(text)
    (field,) = describe("people.csv").schema.fields
    with Resource("people.csv") as table:
        return field.type, [row[field.name] for row in table.row_stream]


friends = told('friends\n"12,45"\n"7,80"\n')
ids = told("id\n1_23\n12_3\n")
print("frictionless:", *ids)
others = pd.read_csv("people.csv")["id"].tolist()
print("pandas:", others)
print("friends:", *friends)
assert ids == ("integer", [123, 123])
assert others == ["1_23", "12_3"]
assert friends[0] == "geopoint"
PY
