#!/usr/bin/env bash
# A weight that GraphML gives by default is a number, a text, zero or nothing
#
# Guess:    a tie without a weight of its own has the one that the key declares as default
# Seen:     so it is for igraph and rustworkx; networkx gives none, NetworKit 0,
#           and graphology the text, so that a sum of weights is a text, too
# Versions: networkx 3.6.1, igraph 1.0.0, rustworkx 0.18.1, networkit 11.3, graphology 0.26.0,
#           graphology-graphml 0.5.2; Python 3.11, Node 20.
# Output seen:
#   identified graph as weighted
#   networkx: [None, 4.0]
#   igraph: [2.5, 4.0]
#   rustworkx: [2.5, 4.0]
#   NetworKit: [0.0, 4.0]
#   graphology: ["2.5",4], sum 02.54
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  networkx==3.6.1 igraph==1.0.0 rustworkx==0.18.1 networkit==11.3
cd "$room"
npm install --silent --no-audit --no-fund \
  graphology@0.26.0 graphology-graphml@0.5.2 graphology-types@0.24.8 > npm.log
cat > people.graphml <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="w" for="edge" attr.name="weight" attr.type="double"><default>2.5</default></key>
  <graph edgedefault="undirected">
    <node id="ann"/><node id="bo"/><node id="ci"/>
    <edge source="ann" target="bo"/>
    <edge source="bo" target="ci"><data key="w">4</data></edge>
  </graph>
</graphml>
XML
"$room/venv/bin/python" - <<'PY'
import igraph
import networkit
import networkx as nx
import rustworkx

name = "people.graphml"
theirs = networkit.readGraph(name, networkit.Format.GraphML)
found = {
    "networkx": [each.get("weight") for _, _, each in nx.read_graphml(name).edges(data=True)],
    "igraph": igraph.Graph.Read_GraphML(name).es["weight"],
    "rustworkx": [each["weight"] for each in rustworkx.read_graphml(name)[0].edges()],
    "NetworKit": [weight for _, _, weight in theirs.iterEdgesWeights()],
}
for library, weights in found.items():
    print(f"{library}: {weights}")
assert list(found.values()) == [[None, 4], [2.5, 4], [2.5, 4], [0, 4]]
PY
cat > ask.js <<'JS'
const assert = require("node:assert");
const fs = require("node:fs");
const Graph = require("graphology");
const {parse} = require("graphology-graphml");

const people = parse(Graph, fs.readFileSync("people.graphml", "utf8"));
const weights = people.mapEdges((tie, values) => values.weight);
const sum = weights.reduce((total, weight) => total + weight, 0);
console.log(`graphology: ${JSON.stringify(weights)}, sum ${sum}`);
assert.deepStrictEqual(weights, ["2.5", 4]);
JS
node ask.js
