#!/usr/bin/env bash
# networkx makes one person of all who are missing in a table, or one for each tie, by the column's type
#
# Guess:    a tie to nobody is left out or refused, alike for each type of column
# Seen:     as texts or as whole numbers all who are missing are one person, who links strangers; as
#           fractions, which pandas makes of whole numbers with a gap, each is a person of their own
# Docs:     of from_pandas_edgelist do not speak of missing values
# Versions: networkx 3.6.1, pandas 3.1.1; Python 3.11.
# Output seen:
#   str: 6 people, 5 ties, in 1 part
#   Int64: 6 people, 5 ties, in 1 part
#   float64: 8 people, 5 ties, in 3 parts
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 pandas==3.1.1
cd "$room"
printf 'source,target\n1,2\n2,3\n3,\n,4\n,5\n' > ties.csv
"$room/venv/bin/python" - <<'PY'
import networkx as nx
import pandas as pd


def ask(type_of_column):
    table = pd.read_csv("ties.csv", dtype=type_of_column)
    graph = nx.from_pandas_edgelist(table)
    parts = nx.number_connected_components(graph)
    print(
        f"{table['source'].dtype}: {len(graph)} people, {graph.number_of_edges()} ties, "
        f"in {parts} part{'s' * (parts > 1)}"
    )
    return len(graph), graph.number_of_edges(), parts


assert ask("str") == (6, 5, 1)
assert ask("Int64") == (6, 5, 1)
assert ask(None) == (8, 5, 3)
PY
