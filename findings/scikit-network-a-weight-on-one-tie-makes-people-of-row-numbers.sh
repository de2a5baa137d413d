#!/usr/bin/env bash
# A weight on one tie of a file makes people of row numbers in scikit-network
#
# Guess:    of three ties, of which one has a weight, the others weigh 1, or the file is refused
# Seen:     rows of different length are taken for lists of neighbours: each row is a person named by its
#           number, the weight 2 is one, too, and no tie of the file is left between those who have it
# Docs:     the structure is guessed from the first rows if not given; given, numpy refuses the file
# Versions: scikit-network 0.33.5; Python 3.11.
# Output seen:
#   without the weight: ann, bo, ci; ann knows bo, ci
#   with the weight: 0, 1, 2, ann, bo, ci; ann knows 0, 2
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check scikit-network==0.33.5
cd "$room"
printf 'ann,bo\nbo,ci\nci,ann\n' > without.csv
printf 'ann,bo\nbo,ci,2\nci,ann\n' > with.csv
"$room/venv/bin/python" - <<'PY'
from sknetwork.data import from_csv


def ask(name):
    graph = from_csv(f"{name}.csv")
    names = graph.names.tolist()
    friends = [names[each] for each in graph.adjacency[[names.index("ann")]].indices]
    print(f"{name} the weight: {', '.join(names)}; ann knows {', '.join(sorted(friends))}")
    return names, sorted(friends)


assert ask("without") == (["ann", "bo", "ci"], ["bo", "ci"])
assert ask("with") == (["0", "1", "2", "ann", "bo", "ci"], ["0", "2"])
PY
