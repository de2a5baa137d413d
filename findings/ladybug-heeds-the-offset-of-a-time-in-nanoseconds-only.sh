#!/usr/bin/env bash
# Two types of ladybug read one time two hours apart
#
# Guess:    a time with its offset from UTC is the same moment in each type of timestamp
# Seen:     TIMESTAMP drops the offset, TIMESTAMP_NS and TIMESTAMP_TZ heed it: cast from one text,
#           the times are two hours apart, so that the earlier of two people may come later
# Versions: ladybug 0.22.0; Python 3.11.
# Output seen:
#   2024-01-01 12:00:00+02:00 as TIMESTAMP: 12:00
#   2024-01-01 12:00:00+02:00 as TIMESTAMP_NS: 10:00
#   2024-01-01 12:00:00+02:00 as TIMESTAMP_TZ: 10:00
#   earlier than 11:00 in UTC: TIMESTAMP False, TIMESTAMP_TZ True
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check ladybug==0.22.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import ladybug

asked = ladybug.Connection(ladybug.Database(":memory:"))
joined, later = "2024-01-01 12:00:00+02:00", "2024-01-01 11:00:00+00:00"


def ask(expression: str) -> object:
    """Return the value of an expression."""
    [[value]] = asked.execute(f"RETURN {expression}").get_all()
    return value


kinds = ("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_TZ")
hours = []
for kind in kinds:
    moment = ask(f"CAST('{joined}' AS {kind})")
    hours.append(f"{moment:%H:%M}")
    print(f"{joined} as {kind}: {hours[-1]}")
assert hours == ["12:00", "10:00", "10:00"]

first, _, last = (ask(f"CAST('{joined}' AS {kind}) < CAST('{later}' AS {kind})") for kind in kinds)
print(f"earlier than 11:00 in UTC: TIMESTAMP {first}, TIMESTAMP_TZ {last}")
assert (first, last) == (False, True)
PY
