#!/usr/bin/env bash
# fastavro writes 2.7 to a field of whole numbers as 2
#
# Guess:    a value that is not of the type in the schema is refused, as a text is
# Seen:     a fraction loses what follows the point, and a boolean is what Python holds for true;
#           a union with null refuses the same fraction
# Versions: fastavro 1.13.1; Python 3.11.
# Output seen:
#   2.7 as long, 2 as boolean: {'long': 2, 'boolean': True}
#   a text, and 2.7 in a union: ['TypeError', 'ValueError']
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check fastavro==1.13.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import io

import fastavro


def sent(kind: object, value: object) -> object:
    """Return what is read of a value that was written."""
    stream, schema = io.BytesIO(), fastavro.parse_schema(kind)
    fastavro.schemaless_writer(stream, schema, value)
    stream.seek(0)
    return fastavro.schemaless_reader(stream, schema, None)


read = {"long": sent("long", 2.7), "boolean": sent("boolean", 2)}
print("2.7 as long, 2 as boolean:", read)
refused = []
for kind, value in (("long", "2.7"), (["null", "long"], 2.7)):
    try:
        sent(kind, value)
    except (TypeError, ValueError) as error:
        refused.append(type(error).__name__)
print("a text, and 2.7 in a union:", refused)
assert read == {"long": 2, "boolean": True}
assert len(refused) == 2
PY
