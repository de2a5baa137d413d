#!/usr/bin/env bash
# networkx refuses a value after it has emptied the file that was there
#
# Guess:    a graph that cannot be written is refused, and the file of before stays
# Seen:     GraphML, GEXF and GML raise, and the former file is empty or holds half a graph
# Versions: networkx 3.6.1; Python 3.11.
# Output seen:
#   write_graphml_lxml: NetworkXError, 458 bytes -> 0
#   write_gexf: TypeError, 653 bytes -> 0
#   write_gml: NetworkXError, 200 bytes -> 116
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import os

import networkx as nx

for write in (nx.write_graphml, nx.write_gexf, nx.write_gml):
    good, bad = nx.path_graph(["ann", "bo", "cy"]), nx.path_graph(["ann", "bo", "cy"])
    bad.nodes["cy"]["ward"] = None
    write(good, "network")
    before = os.path.getsize("network")
    try:
        write(bad, "network")
    except (nx.NetworkXError, TypeError) as error:
        after = os.path.getsize("network")
        print(f"{write.__name__}: {type(error).__name__}, {before} bytes -> {after}")
        assert after < before
    else:
        raise SystemExit(f"{write.__name__} refuses nothing any more")
PY
