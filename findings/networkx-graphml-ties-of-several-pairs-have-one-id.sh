#!/usr/bin/env bash
# Ties of several pairs have one id in GraphML of networkx, so graphology cannot read it
#
# Guess:    ids of ties differ in one file, as ids of people do
# Seen:     an id is the number of a tie within its pair: the first tie of each pair is 0;
#           graphology takes two ties with one id for a contradiction and refuses the graph
# Versions: networkx 3.6.1, graphology 0.26.0, graphology-graphml 0.5.2; Python 3.11, Node 20.
# Output seen:
#   ids: ['0', '1', '0']
#   graphology refuses them, and reads 3 ties with other ids
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
cd "$room"
npm install --silent --no-audit --no-fund \
  graphology@0.26.0 graphology-graphml@0.5.2 graphology-types@0.24.8 > npm.log
"$room/venv/bin/python" - <<'PY'
from xml.etree import ElementTree

import networkx as nx

ties = nx.MultiGraph([("ann", "bo"), ("ann", "bo"), ("bo", "ci")])
nx.write_graphml_xml(ties, "ties.graphml")
edges = ElementTree.parse("ties.graphml").iter("{http://graphml.graphdrawing.org/xmlns}edge")
ids = [edge.get("id") for edge in edges]
print("ids:", ids)
assert ids == ["0", "1", "0"]
PY
cat > ask.js <<'JS'
const assert = require("node:assert");
const fs = require("node:fs");
const {MultiUndirectedGraph} = require("graphology");
const graphml = require("graphology-graphml");

const text = fs.readFileSync("ties.graphml", "utf8");
assert.throws(() => graphml.parse(MultiUndirectedGraph, text), /inconsistency/);
const apart = text.replace('id="0"', 'id="2"');
const graph = graphml.parse(MultiUndirectedGraph, apart);
console.log(`graphology refuses them, and reads ${graph.size} ties with other ids`);
assert.equal(graph.size, 3);
JS
node ask.js
