#!/usr/bin/env bash
# rustworkx writes fractions to GraphML with 32 bits
#
# Guess:    a fraction of Python, which has 64 bits, is written as it is
# Seen:     it is rounded to 32 bits, and declared as float, not double
# Versions: rustworkx 0.18.1; Python 3.11.
# Output seen:
#   0.36391088
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rustworkx==0.18.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import re
from pathlib import Path

import rustworkx

graph = rustworkx.PyGraph()
graph.add_node({"share": 0.3639108812345678})
rustworkx.write_graphml(graph, "people.graphml")
written = Path("people.graphml").read_text()
value = re.search(r"<data[^>]*>([^<]*)<", written)[1]
print(value)
assert value == "0.36391088"
assert 'attr.type="float"' in written
PY
