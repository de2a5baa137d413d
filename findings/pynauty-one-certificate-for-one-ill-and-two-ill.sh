#!/usr/bin/env bash
# Three friends of whom one is ill have the certificate of three of whom two are ill, in pynauty
#
# Guess:    coloured graphs have one certificate if and only if isomorphic() says so
# Seen:     the certificate holds the ties alone, and not how many people have which colour:
#           whoever groups neighbourhoods by certificate mixes them
# Versions: pynauty 2.8.8.1; Python 3.11.
# Output seen:
#   triangle: isomorphic False, one certificate True
#   path: isomorphic False, one certificate True
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pynauty==2.8.8.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
from pynauty import Graph, certificate, isomorphic


def friends(ties: dict, ill: set) -> Graph:
    """Return three people, some of whom are ill."""
    return Graph(3, adjacency_dict=ties, vertex_coloring=[{0, 1, 2} - ill, ill])


for name, ties in {"triangle": {0: [1, 2], 1: [2]}, "path": {0: [1], 1: [2]}}.items():
    one, two = friends(ties, {0}), friends(ties, {0, 2})
    same = certificate(one) == certificate(two)
    print(f"{name}: isomorphic {isomorphic(one, two)}, one certificate {same}")
    assert same
    assert not isomorphic(one, two)
PY
