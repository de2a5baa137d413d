#!/usr/bin/env bash
# Somebody without an age in a CSV file has age 0 in a mean of D3
#
# Guess:    mean, count and deviation leave out what is missing, as they do by their documentation
# Seen:     d3-dsv reads a missing value as an empty text, which d3-array turns into 0: the mean age of 30
#           and 60 is 30; the least age is the empty text; with autoType all is as expected
# Docs:     undefined, null and NaN are ignored because they are missing data; of empty texts no word
# Versions: d3-array 3.2.5, d3-dsv 3.0.2; Node 20.
# Output seen:
#   as read: mean 30, count 3, least ""
#   autoType: mean 45, count 2, least 30
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
npm install --silent --no-audit --no-fund d3-array@3.2.5 d3-dsv@3.0.2 > npm.log
cat > ask.mjs <<'JS'
import assert from "node:assert";
import {count, mean, min} from "d3-array";
import {autoType, csvParse} from "d3-dsv";

const text = "who,age\nann,30\nbo,\nci,60\n";

function ask(name, rows) {
  const found = [mean, count, min].map((statistic) => statistic(rows, (row) => row.age));
  console.log(`${name}: mean ${found[0]}, count ${found[1]}, least ${JSON.stringify(found[2])}`);
  return found;
}

assert.deepEqual(ask("as read", csvParse(text)), [30, 3, ""]);
assert.deepEqual(ask("autoType", csvParse(text, autoType)), [45, 2, 30]);
JS
node ask.mjs
