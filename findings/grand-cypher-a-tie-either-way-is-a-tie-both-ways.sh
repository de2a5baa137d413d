#!/usr/bin/env bash
# A tie in either direction is one in both directions for GrandCypher
#
# Guess:    (a)-[]-(b) finds each tie of a directed graph, whichever way it goes, as in Cypher
# Seen:     only ties that are returned are found: who follows without being followed knows nobody; of an
#           undirected graph of networkx the same query fails, and (a)-[]->(b) finds its ties twice
# Docs:     the readme lists undirected edges as supported
# Versions: grand-cypher 1.2.0, ladybug 0.22.0, networkx 3.6.1; Python 3.11.
# Output seen:
#   GrandCypher: ann-bo bo-ann
#   ladybug: ann-bo ann-bo bo-ann bo-ann bo-ci ci-bo
#   of an undirected graph: 'Graph' object has no attribute 'pred'
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  grand-cypher==1.2.0 ladybug==0.22.0 networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import ladybug
import networkx as nx
from grandcypher import GrandCypher

ties = [("ann", "bo"), ("bo", "ann"), ("bo", "ci")]
graph = nx.DiGraph(ties)
nx.set_node_attributes(graph, {name: name for name in graph}, "name")
query = "MATCH (a)-[]-(b) RETURN a.name, b.name"


def say(name, pairs):
    pairs = sorted(f"{one}-{other}" for one, other in pairs)
    print(f"{name}: {' '.join(pairs)}")
    return pairs


found = GrandCypher(graph).run(query)
assert say("GrandCypher", zip(found["a.name"], found["b.name"])) == ["ann-bo", "bo-ann"]

base = ladybug.Connection(ladybug.Database(":memory:"))
base.execute("CREATE NODE TABLE Person(name STRING PRIMARY KEY)")
base.execute("CREATE REL TABLE Follows(FROM Person TO Person)")
for name in graph:
    base.execute("CREATE (:Person {name: $name})", {"name": name})
for one, other in ties:
    base.execute(
        "MATCH (a:Person {name: $one}), (b:Person {name: $other}) CREATE (a)-[:Follows]->(b)",
        {"one": one, "other": other},
    )
rows = base.execute(query).get_all()
assert say("ladybug", rows) == ["ann-bo", "ann-bo", "bo-ann", "bo-ann", "bo-ci", "ci-bo"]

friends = graph.to_undirected()
there = GrandCypher(friends).run("MATCH (a)-[]->(b) RETURN a.name, b.name")["a.name"]
assert len(there) == 2 * friends.number_of_edges()
try:
    GrandCypher(friends).run(query)
except AttributeError as refused:
    print("of an undirected graph:", refused)
else:
    raise AssertionError("the behaviour has changed")
PY
