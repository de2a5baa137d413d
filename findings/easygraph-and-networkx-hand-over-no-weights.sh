#!/usr/bin/env bash
# EasyGraph hands a graph to networkx without weights and answers, and takes none from it
#
# Guess:    weights of ties and values of people come along, as EasyGraph's own GraphML keeps them
# Seen:     both converters keep names and ties only, and say nothing: each tie weighs the same
# Versions: Python-EasyGraph 1.6.3, networkx 3.6.1; Python 3.11.
# Output seen:
#   EasyGraph: weight 2.5, age 30
#   networkx of it: ties [('ann', 'bo', {})], people [('ann', {}), ('bo', {})]
#   networkx: weight 2.5, age 30
#   EasyGraph of it: ties [('ann', 'bo', {})], people {'ann': {}, 'bo': {}}
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


def filled(graph: easygraph.Graph | nx.Graph) -> easygraph.Graph | nx.Graph:
    """Return a graph of two people, of whom one has an age."""
    graph.add_node("ann", age=30)
    graph.add_edge("ann", "bo", weight=2.5)
    return graph


first, second = filled(easygraph.Graph()), filled(nx.Graph())
there, back = easygraph.to_networkx(first), easygraph.from_networkx(second)
print(f"EasyGraph: weight {first['ann']['bo']['weight']}, age {first.nodes['ann']['age']}")
print(f"networkx of it: ties {there.edges(data=True)}, people {there.nodes(data=True)}")
print(f"networkx: weight {second['ann']['bo']['weight']}, age {second.nodes['ann']['age']}")
print(f"EasyGraph of it: ties {back.edges}, people {back.nodes}")
assert list(there.edges(data=True)) == list(back.edges) == [("ann", "bo", {})]
assert dict(there.nodes(data=True)) == dict(back.nodes) == {"ann": {}, "bo": {}}
PY
