#!/usr/bin/env bash
# Readers of GraphML do not agree what is true
#
# Guess:    True, as networkx writes it, and 1, as XML Schema allows it, are true for each reader
# Seen:     1 is false for graphology; rustworkx refuses both, and so cannot read
#           what networkx writes of a truth value
# Versions: networkx 3.6.1, rustworkx 0.18.1, graphology 0.26.0, graphology-graphml 0.5.2;
#           Python 3.11, Node 20.
# Output seen:
#   networkx writes: True
#   true: networkx True, rustworkx True
#   True: networkx True, rustworkx refuses
#   1: networkx True, rustworkx refuses
#   graphology: true true, True true, 1 false
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 rustworkx==0.18.1
cd "$room"
npm install --silent --no-audit --no-fund \
  graphology@0.26.0 graphology-graphml@0.5.2 graphology-types@0.24.8 > npm.log
"$room/venv/bin/python" - <<'PY'
import re
from pathlib import Path

import networkx as nx
import rustworkx

people = nx.Graph()
people.add_node("ann", smokes=True)
nx.write_graphml_xml(people, "people.graphml")
text = Path("people.graphml").read_text()
[written] = re.findall("<data[^>]*>(.*)</data>", text)
print(f"networkx writes: {written}")
assert written == "True"


def by_rustworkx(name: str) -> bool | str:
    """Return what rustworkx reads, or that it refuses."""
    try:
        return rustworkx.read_graphml(name)[0].nodes()[0]["smokes"]
    except Exception as refused:
        assert "Failed conversion to 'bool'" in str(refused)
        return "refuses"


found = []
for word in ("true", "True", "1"):
    name = f"{word}.graphml"
    Path(name).write_text(text.replace(">True<", f">{word}<"))
    seen = [nx.read_graphml(name).nodes["ann"]["smokes"], by_rustworkx(name)]
    print("{}: networkx {}, rustworkx {}".format(word, *seen))
    found.append(seen)
assert found == [[True, True], [True, "refuses"], [True, "refuses"]]
PY
cat > ask.js <<'JS'
const assert = require("node:assert");
const fs = require("node:fs");
const Graph = require("graphology");
const {parse} = require("graphology-graphml");

const words = ["true", "True", "1"];
const read = (word) => parse(Graph, fs.readFileSync(`${word}.graphml`, "utf8"));
const found = words.map((word) => read(word).getNodeAttribute("ann", "smokes"));
console.log("graphology: " + words.map((word, at) => `${word} ${found[at]}`).join(", "));
assert.deepStrictEqual(found, [true, true, false]);
JS
node ask.js
