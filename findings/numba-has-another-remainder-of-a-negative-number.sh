#!/usr/bin/env bash
# The remainder of -7 by 3 is -1 in numpy and 0 in numba
#
# Guess:    a function of numpy gives the same whole number when numba compiles it
# Seen:     fmod of whole numbers takes a negative one for a very large one, so that the
#           remainder is another, or is larger than what was divided by; fractions are right
# Versions: numba 0.68.1, numpy 2.3.5; Python 3.11.
# Output seen:
#   -7 by 3: numpy -1, numba 0
#   -5 by 3: numpy -2, numba 2
#   7 by -3: numpy 1, numba 7
#   -7.0 by 3.0: numpy -1.0, numba -1.0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check numba==0.68.1 numpy==2.3.5
cd "$room"
"$room/venv/bin/python" - <<'PY'
import numba
import numpy as np


def remainder(numbers: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return the remainders of numbers, with the sign of the numbers."""
    return np.fmod(numbers, by)


compiled = numba.njit(remainder)
pairs = [(-7, 3), (-5, 3), (7, -3), (-7.0, 3.0)]
found = []
for number, by in pairs:
    given = np.array([number]), np.array([by])
    found.append((remainder(*given).item(), compiled(*given).item()))
    print("{} by {}: numpy {}, numba {}".format(number, by, *found[-1]))
assert found == [(-1, 0), (-2, 2), (1, 7), (-1, -1)]
PY
