#!/usr/bin/env bash
# OpenDP casts the text false to true
#
# Guess:    the texts false and 0 are cast to false, and what is neither to the default, false
# Seen:     every text that is not empty is true, so that a count of those who said yes counts all;
#           the text that OpenDP makes of false is cast back to true
# Versions: opendp 0.16.0; Python 3.11.
# Output seen:
#   {'true': True, 'false': True, '0': True, 'no': True, '': False}
#   [True, False] -> ['true', 'false'] -> [True, True]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check opendp==0.16.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import opendp.prelude as dp

dp.enable_features("contrib")


def cast(values: list, given: type, asked: type) -> list:
    """Return the values as OpenDP casts them."""
    space = dp.vector_domain(dp.atom_domain(T=given)), dp.symmetric_distance()
    return (space >> dp.t.then_cast_default(TOA=asked))(values)


answers = ["true", "false", "0", "no", ""]
print(dict(zip(answers, cast(answers, str, bool))))
texts = cast([True, False], bool, str)
print(f"{[True, False]} -> {texts} -> {cast(texts, str, bool)}")
assert cast(answers, str, bool) == [True, True, True, True, False]
assert texts == ["true", "false"]
assert cast(texts, str, bool) == [True, True]
PY
