#!/usr/bin/env bash
# An event has other values in one mode of CloudEvents than in the other
#
# Guess:    structured and binary mode hand over the same event, as long as its data are JSON
# Seen:     in binary mode a text is written without quotation marks: 12 is read as a number, and an empty
#           text as nothing; an extension of false is the text False, which holds for true
# Docs:     the specification makes texts of extensions in binary mode, and writes false in small letters
# Versions: cloudevents 2.2.0; Python 3.11.
# Output seen:
#   '12': structured '12', binary 12
#   'true': structured 'true', binary True
#   '': structured '', binary None
#   extension False: structured False, binary 'False'
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check cloudevents==2.2.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
from cloudevents.core.bindings.http import from_http, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

form = JSONFormat()


def both(data, **extensions):
    event = CloudEvent(
        {
            "id": "1",
            "source": "/ties",
            "type": "tie",
            "specversion": "1.0",
            "datacontenttype": "application/json",
            **extensions,
        },
        data,
    )
    return [from_http(write(event, form), form) for write in (to_structured, to_binary)]


for data, wanted in (("12", 12), ("true", True), ("", None)):
    structured, binary = (event.get_data() for event in both(data))
    print(f"{data!r}: structured {structured!r}, binary {binary!r}")
    assert structured == data
    assert binary == wanted
structured, binary = (event.get_extension("ill") for event in both({}, ill=False))
print(f"extension False: structured {structured!r}, binary {binary!r}")
assert structured is False
assert binary == "False"
PY
