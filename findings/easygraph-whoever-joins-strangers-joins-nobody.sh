#!/usr/bin/env bash
# Whoever stands between people who do not know each other has the least effective size in EasyGraph
#
# Guess:    a person with four friends who are strangers has effective size 4, by Burt's definition
# Seen:     it is 1, as with one friend; a tie between two of the friends, which should lower it,
#           makes it 3.5, and a weight of 1 on each tie 4
# Versions: Python-EasyGraph 1.6.3, networkx 3.6.1; Python 3.11.
# Output seen:
#   strangers: EasyGraph 1.0, with weights 4.0, networkx 4.0
#   two are friends: EasyGraph 3.5, with weights 3.5, networkx 3.5
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
# The library works without PyTorch, which takes minutes to install.
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  networkx==3.6.1 scipy==1.17.1 numpy==1.26.4 matplotlib==3.11.2 requests==2.34.2 fastjsonschema==2.22.3 \
  joblib==1.6.0 tqdm==4.70.1
"$room/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps Python-EasyGraph==1.6.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
import easygraph
import networkx as nx

strangers = [("ann", friend) for friend in ("bo", "ci", "di", "ed")]


def sizes(name: str, ties: list) -> list:
    """Return three effective sizes of ann."""
    graph = easygraph.Graph()
    for tie in ties:
        graph.add_edge(*tie, weight=1)
    found = [
        easygraph.effective_size(graph)["ann"],
        easygraph.effective_size(graph, weight="weight")["ann"],
        nx.effective_size(nx.Graph(ties))["ann"],
    ]
    print(f"{name}: EasyGraph {found[0]}, with weights {found[1]}, networkx {found[2]}")
    return found


assert sizes("strangers", strangers) == [1, 4, 4]
assert sizes("two are friends", [*strangers, ("bo", "ci")]) == [3.5, 3.5, 3.5]
PY
