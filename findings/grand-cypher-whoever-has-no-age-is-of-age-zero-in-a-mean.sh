#!/usr/bin/env bash
# Somebody without an age makes the mean age lower in GrandCypher
#
# Guess:    COUNT and AVG of a property leave out who does not have it, as Cypher has it
# Seen:     they count everybody: the sum of two ages is divided by three people; a tie
#           without a weight does the same; "is not 20" keeps who has no age, "not 20" drops them
# Docs:     the readme lists the functions as supported and says nothing of missing values
# Versions: grand-cypher 1.2.0, ladybug 0.22.0, networkx 3.6.1; Python 3.11.
# Output seen:
#   GrandCypher: 3 ages, mean 16.67; ladybug: 2 ages, mean 25.00
#   <> 20: ann, ci; NOT = 20: ann
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

people = {"ann": {"age": 30}, "bo": {"age": 20}, "ci": {}}
graph = nx.DiGraph([("ann", "bo"), ("bo", "ci")])
nx.set_node_attributes(graph, {name: {"name": name, **rest} for name, rest in people.items()})


def ask(query):
    return GrandCypher(graph).run(query)


found = ask("MATCH (a) RETURN COUNT(a.age), AVG(a.age)")
count, mean = found["COUNT(a.age)"][0], found["AVG(a.age)"][0]

base = ladybug.Connection(ladybug.Database(":memory:"))
base.execute("CREATE NODE TABLE Person(name STRING PRIMARY KEY, age INT64)")
for name, rest in people.items():
    base.execute("CREATE (:Person {name: $name, age: $age})", {"name": name, "age": rest.get("age")})
right = base.execute("MATCH (a:Person) RETURN COUNT(a.age), AVG(a.age)").get_next()
print(f"GrandCypher: {count} ages, mean {mean:.2f}; ladybug: {right[0]} ages, mean {right[1]:.2f}")
assert (count, round(mean, 2)) == (3, 16.67)
assert right == [2, 25.0]

other = ask("MATCH (a) WHERE a.age <> 20 RETURN a.name")["a.name"]
denied = ask("MATCH (a) WHERE NOT a.age = 20 RETURN a.name")["a.name"]
print(f"<> 20: {', '.join(other)}; NOT = 20: {', '.join(denied)}")
assert (other, denied) == (["ann", "ci"], ["ann"])
PY
