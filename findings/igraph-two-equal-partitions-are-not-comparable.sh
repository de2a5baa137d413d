#!/usr/bin/env bash
# igraph has no adjusted Rand index for two partitions that are the same
#
# Guess:    equal partitions have index 1, also if all people are in one community, or each is alone
# Seen:     in both cases it is NaN, so that a mean over releases is, too; mutual information of the same
#           partitions is 1, and scikit-learn has 1 for both
# Docs:     give the method's name and a reference, and no exception
# Versions: igraph 1.0.0, scikit-learn 1.5.2; Python 3.11.
# Output seen:
#   all together: igraph nan and 1.0, scikit-learn 1.0
#   each alone: igraph nan and 1.0, scikit-learn 1.0
#   two and one: igraph 1.0 and 1.0, scikit-learn 1.0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check igraph==1.0.0 scikit-learn==1.5.2
cd "$room"
"$room/venv/bin/python" - <<'PY'
import math

import igraph
from sklearn.metrics import adjusted_rand_score

for name, people in (("all together", [0, 0, 0]), ("each alone", [0, 1, 2]), ("two and one", [0, 0, 1])):
    rand, shared = (
        igraph.compare_communities(people, people, method=method)
        for method in ("adjusted_rand", "nmi")
    )
    other = adjusted_rand_score(people, people)
    print(f"{name}: igraph {rand} and {shared}, scikit-learn {other}")
    assert math.isnan(rand) == (name != "two and one")
    assert shared == other == 1
PY
