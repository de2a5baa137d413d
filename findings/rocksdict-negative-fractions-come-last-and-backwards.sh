#!/usr/bin/env bash
# Negative fractions come last in rocksdict, the greatest first
#
# Guess:    keys of one type are read in the order of numbers, as whole numbers are
# Seen:     whoever reads from 0.0 on gets what is below it, too, and whoever reads
#           from -1.0 on misses -0.5 and all that is above it
# Versions: rocksdict 0.3.29; Python 3.11.
# Output seen:
#   whole numbers: [-3, -1, 0, 2], from -1 on [-1, 0, 2]
#   fractions: [0.0, 1.5, -0.5, -1.0, -2.5], from 0.0 on [0.0, 1.5, -0.5, -1.0, -2.5]
#   from -1.0 on [-1.0, -2.5]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rocksdict==0.3.29
cd "$room"
"$room/venv/bin/python" - <<'PY'
from rocksdict import Rdict

whole, parts = Rdict("whole"), Rdict("parts")
for key in (2, -3, 0, -1):
    whole[key] = True
for key in (1.5, -2.5, 0.0, -0.5, -1.0):
    parts[key] = True
print(f"whole numbers: {list(whole.keys())}, from -1 on {list(whole.keys(from_key=-1))}")
print(f"fractions: {list(parts.keys())}, from 0.0 on {list(parts.keys(from_key=0.0))}")
print(f"from -1.0 on {list(parts.keys(from_key=-1.0))}")
assert list(whole.keys()) == [-3, -1, 0, 2]
assert list(parts.keys(from_key=0.0)) == [0.0, 1.5, -0.5, -1.0, -2.5]
assert list(parts.keys(from_key=-1.0)) == [-1.0, -2.5]
whole.close()
parts.close()
PY
