#!/usr/bin/env bash
# DuckDB gives another column than the one that is spelt as asked
#
# Guess:    of the columns Health and health of a CSV file, SELECT health gives the second
# Seen:     it gives the first; the second is called health_1, and nothing is said
# Versions: duckdb 2.0.1, polars 2.1.0; Python 3.11.
# Output seen:
#   DuckDB: ['id', 'Health', 'health_1'], SELECT health: well
#   polars: health: ill
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 polars==2.1.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import duckdb
import polars

with open("people.csv", "w") as file:
    file.write("id,Health,health\n1,well,ill\n")
names = duckdb.read_csv("people.csv").columns
((value,),) = duckdb.sql("SELECT health FROM 'people.csv'").fetchall()
print(f"DuckDB: {names}, SELECT health: {value}")
(other,) = polars.read_csv("people.csv")["health"]
print(f"polars: health: {other}")
assert names == ["id", "Health", "health_1"]
assert value == "well"
assert other == "ill"
PY
