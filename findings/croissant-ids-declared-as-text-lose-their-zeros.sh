#!/usr/bin/env bash
# The loader of Croissant takes zeros from ids that are declared as text
#
# Guess:    a field of type Text is loaded as it is written, and one of type Integer exactly
# Seen:     types are heeded after reading only: 007 is 7; one empty cell makes
#           a column of whole numbers fractions, and the last digit of a large one is another
# Versions: mlcroissant 1.1.1, pandas 3.1.1; Python 3.11.
# Output seen:
#   [(b'7', 12345678901234568), (b'8', None)]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check mlcroissant==1.1.1 pandas==3.1.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import hashlib
import json
from pathlib import Path

import mlcroissant

data = b"id,number\n007,12345678901234567\n008,\n"
Path("people.csv").write_bytes(data)


def field(name: str, kind: str) -> dict:
    """Return the description of a column."""
    source = {"fileObject": {"@id": "people.csv"}, "extract": {"column": name}}
    told = {"@type": "cr:Field", "@id": f"people/{name}", "name": name}
    return told | {"dataType": kind, "source": source}


described = {
    "@context": mlcroissant.Metadata(name="people").to_json()["@context"],
    "@type": "sc:Dataset",
    "name": "people",
    "conformsTo": "http://mlcommons.org/croissant/1.1",
    "distribution": [
        {
            "@type": "cr:FileObject",
            "@id": "people.csv",
            "name": "people.csv",
            "contentUrl": "people.csv",
            "encodingFormat": "text/csv",
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    ],
    "recordSet": [
        {
            "@type": "cr:RecordSet",
            "@id": "people",
            "name": "people",
            "field": [field("id", "sc:Text"), field("number", "sc:Integer")],
        }
    ],
}
Path("croissant.json").write_text(json.dumps(described))
records = list(mlcroissant.Dataset(jsonld="croissant.json").records("people"))
found = [(each["people/id"], each["people/number"]) for each in records]
print(found)
assert found == [(b"7", 12345678901234568), (b"8", None)]
PY
