#!/usr/bin/env bash
# Cytoscape ranks people by which end of a tie was written first, in PageRank only
#
# Guess:    a tie has no direction, as for each other centrality of Cytoscape by default
# Seen:     PageRank takes every tie as one-way, and no option tells it otherwise:
#           bo, who stands between all, is last or second by how two ties were written
# Versions: cytoscape 3.35.0; Node 20.
# Output seen:
#   ann-bo, bo-ci: PageRank 0.191,0.344,0.465; closeness 0.75,1,0.75
#   bo-ann, bo-ci: PageRank 0.368,0.263,0.368; closeness 0.75,1,0.75
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
npm install --silent --no-audit --no-fund cytoscape@3.35.0 > npm.log
cat > ask.js <<'JS'
const assert = require("node:assert");
const cytoscape = require("cytoscape");

const people = ["ann", "bo", "ci"];

function central(ties) {
  const elements = people.map((id) => ({data: {id}}));
  for (const [source, target] of ties) elements.push({data: {source, target}});
  const graph = cytoscape({headless: true, elements});
  const {rank} = graph.elements().pageRank();
  const {closeness} = graph.elements().closenessCentralityNormalized();
  const ranks = people.map((id) => rank(`#${id}`).toFixed(3));
  const near = people.map((id) => closeness(`#${id}`));
  console.log(`${ties.map((tie) => tie.join("-")).join(", ")}: PageRank ${ranks}; closeness ${near}`);
  return [ranks, near];
}

const one = central([["ann", "bo"], ["bo", "ci"]]);
const other = central([["bo", "ann"], ["bo", "ci"]]);
assert.deepEqual(one[1], other[1]);
assert.deepEqual(one[0], ["0.191", "0.344", "0.465"]);
assert.deepEqual(other[0], ["0.368", "0.263", "0.368"]);
JS
node ask.js
