#!/usr/bin/env bash
# People without an answer are in the length of a result of rdflib and not in the result
#
# Guess:    an OPTIONAL value that is missing is None, as it is where a second value is asked for
# Seen:     a row in which nothing is known is left out when rows are read, though it is counted;
#           pyoxigraph gives it, and so does rdflib as soon as the row holds another value
# Versions: rdflib 7.6.0, pyoxigraph 0.5.13; Python 3.11.
# Output seen:
#   rdflib: length 3, rows [['31'], ['40']]
#   pyoxigraph: rows [['31'], ['40'], [None]]
#   rdflib, with names: rows [['ann', '31'], ['bo', '40'], ['ci', None]]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rdflib==7.6.0 pyoxigraph==0.5.13
cd "$room"
"$room/venv/bin/python" - <<'PY'
from collections.abc import Iterable

import pyoxigraph
import rdflib

people = """
@prefix : <urn:people:> .
:1 :name "ann" ; :age 31 .
:2 :name "bo" ; :age 40 .
:3 :name "ci" .
"""
asked = "PREFIX : <urn:people:> SELECT {} WHERE {{ ?who :name ?name OPTIONAL {{ ?who :age ?age }} }}"
graph = rdflib.Graph().parse(data=people, format="turtle")
store = pyoxigraph.Store()
store.load(people.encode(), format=pyoxigraph.RdfFormat.TURTLE)


def rows(found: Iterable) -> list[list[str | None]]:
    """Return the values of rows as texts, in order."""
    texts = [[value and str(getattr(value, "value", value)) for value in row] for row in found]
    return sorted(texts, key=str)


result = graph.query(asked.format("?age"))
length = len(result)
seen = [rows(result), rows(store.query(asked.format("?age")))]
named = rows(graph.query(asked.format("?name ?age")))
print(f"rdflib: length {length}, rows {seen[0]}")
print(f"pyoxigraph: rows {seen[1]}")
print(f"rdflib, with names: rows {named}")
assert length == 3
assert seen == [[["31"], ["40"]], [["31"], ["40"], [None]]]
assert named == [["ann", "31"], ["bo", "40"], ["ci", None]]
PY
