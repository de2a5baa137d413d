#!/usr/bin/env bash
# Communities in which all know each other have no significance in cdlib
#
# Guess:    the denser communities are, the more significant; two libraries that name one paper agree
# Seen:     one community without a gap makes the score NaN; with gaps it is another number than that of
#           leidenalg, written by the paper's author; surprise, from the same paper, agrees to the last digit
# Docs:     give the paper and no exception
# Versions: cdlib 0.4.1, leidenalg 0.12.0, igraph 1.0.0, networkx 3.6.1, numpy 1.26.4; Python 3.11.
# Output seen:
#   two triangles: significance nan and 4.57, surprise 3.14 and 3.14
#   two squares: significance 4.60 and 2.99, surprise 4.20 and 4.20
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  cdlib==0.4.1 leidenalg==0.12.0 igraph==1.0.0 networkx==3.6.1 numpy==1.26.4
cd "$room"
cat > ask.py <<'PY'
import math

import igraph
import leidenalg
import networkx as nx
from cdlib import NodeClustering, evaluation


def ask(name, size):
    """Two rings of SIZE people with one tie between them."""
    ring = [(each, (each + 1) % size) for each in range(size)]
    ties = [*ring, *((one + size, other + size) for one, other in ring), (0, size)]
    people, graph = igraph.Graph(ties), nx.Graph(ties)
    ours = [0] * size + [1] * size
    theirs = NodeClustering([list(range(size)), list(range(size, 2 * size))], graph)
    found = (
        float(evaluation.significance(graph, theirs).score),
        leidenalg.SignificanceVertexPartition(people, initial_membership=ours).quality(),
        float(evaluation.surprise(graph, theirs).score),
        leidenalg.SurpriseVertexPartition(people, initial_membership=ours).quality(),
    )
    print(
        "{}: significance {:.2f} and {:.2f}, surprise {:.2f} and {:.2f}".format(name, *found)
    )
    return found


gapless = ask("two triangles", 3)
assert math.isnan(gapless[0])
assert abs(gapless[1] - 4.57) < 0.01
assert abs(gapless[2] - gapless[3]) < 1e-9
squares = ask("two squares", 4)
assert abs(squares[0] - 4.60) < 0.01
assert abs(squares[1] - 2.99) < 0.01
assert abs(squares[2] - squares[3]) < 1e-9
PY
"$room/venv/bin/python" -W ignore ask.py 2> log | grep -v '^Note: '
