#!/usr/bin/env bash
# csvkit makes days of April, May and June, and truth values of their numbers of friends
#
# Guess:    a column of names is text, and one of numbers is numbers, as pandas reads them
# Seen:     a column in which each name is also that of a month becomes days of the year 1; one in
#           which everybody has 0 or 1 friends becomes false and true; a fourth person changes it all
# Docs:     1 and 0 are named as truth values, -I as the way to keep text; that names can be days is not
# Versions: csvkit 2.2.0, pandas 3.1.1; Python 3.11.
# Output seen:
#   0001-04-01 true; 0001-05-01 false; 0001-06-01 true
#   with ann: April 1.0; May 0.0; June 1.0; ann 2.0
#   pandas: April 1; May 0; June 1
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check csvkit==2.2.0 pandas==3.1.1
cd "$room"
printf 'who,friends\nApril,1\nMay,0\nJune,1\n' > three.csv
cat three.csv - <<< 'ann,2' > four.csv
for name in three four; do
  "$room/venv/bin/csvjson" "$name.csv" > "$name.json"
done
"$room/venv/bin/python" - <<'PY'
import json
from pathlib import Path

import pandas as pd

three = json.loads(Path("three.json").read_text())
four = json.loads(Path("four.json").read_text())
print("; ".join(f"{each['who']} {json.dumps(each['friends'])}" for each in three))
print("with ann:", "; ".join(f"{each['who']} {each['friends']}" for each in four))
assert [each["who"] for each in three] == ["0001-04-01", "0001-05-01", "0001-06-01"]
assert [each["friends"] for each in three] == [True, False, True]
assert [each["who"] for each in four] == ["April", "May", "June", "ann"]
assert [each["friends"] for each in four] == [1, 0, 1, 2]
assert not any(isinstance(each["friends"], bool) for each in four)
table = pd.read_csv("three.csv")
print("pandas:", "; ".join(f"{who} {friends}" for who, friends in table.itertuples(index=False)))
assert table["who"].tolist() == ["April", "May", "June"]
assert table["friends"].dtype == "int64"
PY
