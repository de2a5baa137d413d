#!/usr/bin/env bash
# Somebody without a value is in no class of anonypy, and not in its table
#
# Guess:    who has no age is in a class with others, or is refused: each person is counted once
# Seen:     a class is cut in two at its median, and who has no number is in neither half;
#           nothing is said
# Versions: anonypy 0.2.1, pandas 3.1.1; Python 3.11.
# Output seen:
#   people 8, counted 8
#   one age missing: people 8, counted 7
#   two ages missing: people 8, counted 6
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check anonypy==0.2.1 pandas==3.1.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import anonypy
import pandas as pd


def counted(ages: list) -> int:
    """Return how many people the anonymized table counts."""
    table = pd.DataFrame({"age": ages, "health": ["ill", "well"] * 4})
    table["health"] = table["health"].astype("category")
    classes = anonypy.Preserver(table, ["age"], "health").anonymize_k_anonymity(k=2)
    return sum(row["count"] for row in classes)


ages = [20, 21, 22, 23, 40, 41, 42, 43]
found = {
    "": counted(ages),
    "one age missing: ": counted([*ages[:7], None]),
    "two ages missing: ": counted([None, *ages[1:7], None]),
}
for case, people in found.items():
    print(f"{case}people 8, counted {people}")
assert list(found.values()) == [8, 7, 6]
PY
