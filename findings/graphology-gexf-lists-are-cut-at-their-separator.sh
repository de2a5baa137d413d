#!/usr/bin/env bash
# A list in GEXF of graphology comes back longer
#
# Guess:    a list of texts is read as it was written, and an empty list is empty
# Seen:     a text with | becomes two, and an empty list becomes a list of one empty text
# Versions: graphology 0.26.0, graphology-gexf 0.13.2; Node 20.
# Output seen:
#   ann: {"hobbies":["chess","go","golf"]}
#   bo: {"hobbies":[""]}
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
npm install --silent --no-audit --no-fund \
  graphology@0.26.0 graphology-gexf@0.13.2 graphology-types@0.24.8 > npm.log
cat > ask.js <<'JS'
const assert = require("node:assert");
const Graph = require("graphology");
const gexf = require("graphology-gexf");

const graph = new Graph();
graph.addNode("ann", {hobbies: ["chess|go", "golf"]});
graph.addNode("bo", {hobbies: []});
const again = gexf.parse(Graph, gexf.write(graph));
for (const name of ["ann", "bo"]) {
  console.log(`${name}:`, JSON.stringify(again.getNodeAttributes(name)));
}
assert.deepEqual(again.getNodeAttributes("ann").hobbies, ["chess", "go", "golf"]);
assert.deepEqual(again.getNodeAttributes("bo").hobbies, [""]);
JS
node ask.js
