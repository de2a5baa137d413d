#!/usr/bin/env bash
# Infomap puts one of three people without ties into a community and leaves two alone
#
# Guess:    whoever has no tie is a community of one person, as for Leiden and Louvain
# Seen:     with each of eight seeds one of the three joins people who know each other;
#           the seed says who
# Versions: infomap 2.16.0, networkx 3.6.1; Python 3.11.
# Output seen:
#   how many of x, y, z are with others: [1, 1, 1, 1, 1, 1, 1, 1]
#   who: z y z y x y y x
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check infomap==2.16.0 networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import infomap
import networkx as nx

graph = nx.Graph(["ab", "bc", "ca", "cd", "de", "ef", "fd"])
graph.add_nodes_from("xyz")


def with_others(seed: int) -> str:
    """Return who has no tie and is in a community with others."""
    search = infomap.Infomap(silent=True, seed=seed)
    names = search.add_networkx_graph(graph)
    found = {names[node]: community for node, community in search.run().modules().items()}
    return "".join(each for each in "xyz" if list(found.values()).count(found[each]) > 1)


joined = [with_others(seed) for seed in range(1, 9)]
print(f"how many of x, y, z are with others: {[len(each) for each in joined]}")
print("who:", *joined)
assert all(len(each) == 1 for each in joined)
assert len(set(joined)) > 1
PY
