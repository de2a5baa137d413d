#!/usr/bin/env bash
# Ten of a hundred shares with two decimals are no multiple of 0.01 for jsonschema
#
# Guess:    multipleOf 0.01 takes what is written with two decimals, and validators agree
# Seen:     jsonschema divides binary fractions: it takes some of a hundred shares and refuses others,
#           all of which jsonschema-rs and fastjsonschema take
# Versions: jsonschema 4.26.0, jsonschema-rs 0.61.2, fastjsonschema 2.22.3; Python 3.11.
# Output seen:
#   jsonschema: takes 91 of 101, 0.07 False
#   jsonschema-rs: takes 101 of 101, 0.07 True
#   fastjsonschema: takes 101 of 101, 0.07 True
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0 jsonschema-rs==0.61.2 fastjsonschema==2.22.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
import fastjsonschema
import jsonschema
import jsonschema_rs

schema = {"type": "number", "multipleOf": 0.01}
shares = [hundredth / 100 for hundredth in range(101)]


def fast(share: float) -> bool:
    """Return whether fastjsonschema takes a share."""
    try:
        check(share)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


check = fastjsonschema.compile(schema)
taken = {
    "jsonschema": [each for each in shares if jsonschema.Draft202012Validator(schema).is_valid(each)],
    "jsonschema-rs": [each for each in shares if jsonschema_rs.is_valid(schema, each)],
    "fastjsonschema": [each for each in shares if fast(each)],
}
for name, some in taken.items():
    print(f"{name}: takes {len(some)} of {len(shares)}, 0.07 {0.07 in some}")
assert [len(some) for some in taken.values()] == [91, 101, 101]
assert 0.07 not in taken["jsonschema"]
PY
