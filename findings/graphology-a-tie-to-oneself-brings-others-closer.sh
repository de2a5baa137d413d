#!/usr/bin/env bash
# A tie to oneself changes how central others are in graphology
#
# Guess:    a self-loop is on no shortest path, and a second tie between two people shortens none
# Seen:     both change closeness of somebody elsewhere; the self-loop changes betweenness, too
# Versions: graphology 0.26.0, graphology-metrics 2.1.0; Node 20.
# Output seen:
#   path: closeness 0.5,0.75,0.75,0.5; betweenness 0,2,2,0
#   ann to ann, too: closeness 0.5,0.75,0.75,0.75; betweenness 0.5,1,1,0.5
#   bo to ci twice: closeness 0.5,0.75,0.75,0.75; betweenness 0,2,2,0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
npm install --silent --no-audit --no-fund \
  graphology@0.26.0 graphology-metrics@2.1.0 graphology-types@0.24.8 > npm.log
cat > ask.js <<'JS'
const assert = require("node:assert");
const {MultiUndirectedGraph} = require("graphology");
const betweenness = require("graphology-metrics/centrality/betweenness");
const closeness = require("graphology-metrics/centrality/closeness");

const path = [["ann", "bo"], ["bo", "ci"], ["ci", "di"]];

function central(name, ties) {
  const graph = new MultiUndirectedGraph();
  for (const each of ["ann", "bo", "ci", "di"]) graph.addNode(each);
  for (const tie of ties) graph.addEdge(...tie);
  const found = [closeness(graph), betweenness(graph, {normalized: false})].map(Object.values);
  console.log(`${name}: closeness ${found[0]}; betweenness ${found[1]}`);
  return found;
}

assert.deepEqual(central("path", path), [[0.5, 0.75, 0.75, 0.5], [0, 2, 2, 0]]);
assert.deepEqual(
  central("ann to ann, too", [["ann", "ann"], ...path]),
  [[0.5, 0.75, 0.75, 0.75], [0.5, 1, 1, 0.5]],
);
assert.deepEqual(
  central("bo to ci twice", [...path, ["bo", "ci"]]),
  [[0.5, 0.75, 0.75, 0.75], [0, 2, 2, 0]],
);
JS
node ask.js
