#!/usr/bin/env bash
# Two people with a space between them are one person for the anonymizer of Presidio
#
# Guess:    each place that the analyzer found is replaced on its own
# Seen:     places of one type with nothing but a space between are joined before they are replaced: two
#           ids in a list become one pseudonym, another than that of either, and a comma keeps them apart
# Docs:     the readme does not tell; the docstring of a private function does
# Versions: presidio-anonymizer 2.2.366; Python 3.11.
# Output seen:
#   17,25: <ID>,<ID>
#   17 25: <ID>
#   with a fixed salt: 17 alone and 17 beside 25 differ
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check presidio-anonymizer==2.2.366
cd "$room"
"$room/venv/bin/python" - <<'PY'
from presidio_anonymizer import AnonymizerEngine
from presidio_anonymizer.entities import OperatorConfig, RecognizerResult

engine = AnonymizerEngine()
hashed = {"ID": OperatorConfig("hash", {"salt": b"sixteen bytes of"})}


def replace(text, places, operators=None):
    found = [RecognizerResult("ID", *place, 1.0) for place in places]
    return engine.anonymize(text, found, operators=operators).text


both = [(0, 2), (3, 5)]
for text, wanted in (("17,25", "<ID>,<ID>"), ("17 25", "<ID>")):
    print(f"{text}: {replace(text, both)}")
    assert replace(text, both) == wanted
alone = replace("17", both[:1], hashed)
assert replace("17,25", both, hashed).split(",")[0] == alone
joined = replace("17 25", both, hashed)
assert " " not in joined
assert joined != alone
print("with a fixed salt: 17 alone and 17 beside 25 differ")
PY
