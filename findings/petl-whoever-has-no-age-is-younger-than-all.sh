#!/usr/bin/env bash
# Whoever has no age is younger than 35 in petl, or older, and all are older as they come from CSV
#
# Guess:    a comparison leaves out who has no value, and numbers written as text are numbers or refused
# Seen:     values are ordered by type where they cannot be compared: None is below each number, an empty
#           text above; straight from CSV all ages are text, and so above 35
# Docs:     say this of sorting mixed types, not of selecting; pandas leaves out, or refuses to compare
# Versions: petl 1.7.30; Python 3.11.
# Output seen:
#   as read, over 35: ann bo ci; under 35: nobody
#   numbers and empty texts, over 35: bo ci; under 35: ann
#   numbers and None, over 35: ci; under 35: ann bo
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check petl==1.7.30
cd "$room"
printf 'who,age\nann,20\nbo,\nci,60\n' > people.csv
"$room/venv/bin/python" - <<'PY'
import petl

read = petl.fromcsv("people.csv")


def ask(name, table):
    found = [
        list(petl.values(chosen, "who"))
        for chosen in (petl.selectgt(table, "age", 35), petl.selectlt(table, "age", 35))
    ]
    over, under = (" ".join(names) or "nobody" for names in found)
    print(f"{name}, over 35: {over}; under 35: {under}")
    return found


assert ask("as read", read) == [["ann", "bo", "ci"], []]
assert ask("numbers and empty texts", petl.convertnumbers(read)) == [["bo", "ci"], ["ann"]]
numbers = petl.convert(read, "age", lambda text: int(text) if text else None)
assert ask("numbers and None", numbers) == [["ci"], ["ann", "bo"]]
PY
