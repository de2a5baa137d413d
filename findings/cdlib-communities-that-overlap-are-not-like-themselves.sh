#!/usr/bin/env bash
# Communities that share people are unlike themselves by F1 of cdlib, and all are by closeness
#
# Guess:    a clustering compared with itself scores 1
# Seen:     each community is matched by where most of its people also are: with overlaps F1 is 0.75, and
#           normalized F1 of one community within another 0.25; the simple closeness is 0.5 for any two
#           that are the same; omega and the overlapping mutual information are 1
# Docs:     both kinds of F1 are offered for partitions with overlaps, too
# Versions: cdlib 0.4.1, networkx 3.6.1, numpy 1.26.4; Python 3.11.
# Output seen:
#   apart: F1 1.00, normalized 1.00, omega 1.00, closeness 0.50
#   overlapping: F1 0.75, normalized 0.75, omega 1.00, closeness 0.50
#   nested: F1 1.00, normalized 0.25, omega 1.00, closeness 0.50
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  cdlib==0.4.1 networkx==3.6.1 numpy==1.26.4
cd "$room"
cat > ask.py <<'PY'
import networkx as nx
from cdlib import NodeClustering, evaluation

measures = (
    evaluation.f1,
    evaluation.nf1,
    evaluation.omega,
    evaluation.partition_closeness_simple,
)


def ask(name, communities):
    same = NodeClustering(communities, nx.complete_graph(6), overlap=True)
    found = [round(float(measure(same, same).score), 2) for measure in measures]
    print(
        "{}: F1 {:.2f}, normalized {:.2f}, omega {:.2f}, closeness {:.2f}".format(name, *found)
    )
    return found


assert ask("apart", [[0, 1, 2], [3, 4, 5]]) == [1, 1, 1, 0.5]
assert ask("overlapping", [[0, 1, 2, 3], [2, 3, 4, 5]]) == [0.75, 0.75, 1, 0.5]
assert ask("nested", [[0, 1, 2, 3, 4, 5], [0, 1, 2]]) == [1, 0.25, 1, 0.5]
PY
"$room/venv/bin/python" -W ignore ask.py 2> log | grep -v '^Note: '
