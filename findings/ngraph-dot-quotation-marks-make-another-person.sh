#!/usr/bin/env bash
# Quotation marks make another person in DOT of ngraph
#
# Guess:    1 and "1" are one person in DOT, as its grammar has it, and 007 is not 7
# Seen:     digits without quotation marks become a number, and with them stay a text: two people;
#           007, 7 and 7.0 are one; graphlib-dot reads names as they are
# Versions: ngraph.fromdot 7.1.0, graphlib-dot 0.6.4; Node 20.
# Output seen:
#   graph { 1 -- 2; "1" -- 3 }
#     ngraph [1,2,"1",3], graphlib ["1","2","3"]
#   graph { 007 -- 8; 7 -- 9; 7.0 -- 9 }
#     ngraph [7,8,9], graphlib ["7","8","9","007","7.0"]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
npm install --silent --no-audit --no-fund \
  ngraph.fromdot@7.1.0 graphlib-dot@0.6.4 > npm.log
cat > ask.js <<'JS'
const assert = require("node:assert");
const dot = require("graphlib-dot");
const fromDot = require("ngraph.fromdot");

function people(text) {
  const byNgraph = [];
  fromDot(text).forEachNode((node) => void byNgraph.push(node.id));
  const byGraphlib = dot.read(text).nodes();
  console.log(text);
  console.log(`  ngraph ${JSON.stringify(byNgraph)}, graphlib ${JSON.stringify(byGraphlib)}`);
  return [byNgraph.length, byGraphlib.length];
}

assert.deepEqual(people('graph { 1 -- 2; "1" -- 3 }'), [4, 3]);
assert.deepEqual(people("graph { 007 -- 8; 7 -- 9; 7.0 -- 9 }"), [3, 5]);
JS
node ask.js
