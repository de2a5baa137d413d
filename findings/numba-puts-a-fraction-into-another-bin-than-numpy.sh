#!/usr/bin/env bash
# numba counts 0.3 into another bin than numpy, and finds 10 whole tenths in 1 where numpy finds 9
#
# Guess:    a function of numpy cuts fractions at the same places when numba compiles it
# Seen:     a histogram of numpy compares with the edges as floats are, that of numba divides only;
#           floor_divide heeds the remainder in numpy, and rounds down a quotient in numba
# Versions: numba 0.68.1, numpy 2.3.5; Python 3.11.
# Output seen:
#   histogram of 0, 0.1, ... 1: numpy [1, 1, 2, 0, 1, 2, 1, 0, 1, 2]
#   histogram of 0, 0.1, ... 1: numba [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
#   1 by 0.1: numpy 9.0, numba 10.0
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


def bins(shares: np.ndarray) -> np.ndarray:
    """Return how many shares fall into each of ten bins."""
    return np.histogram(shares, 10, (0.0, 1.0))[0]


def tenths(whole: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return how many times a share is in a whole."""
    return np.floor_divide(whole, share)


shares = np.arange(11) / 10
counts = [each(shares).tolist() for each in (bins, numba.njit(bins))]
for name, found in zip(["numpy", "numba"], counts):
    print(f"histogram of 0, 0.1, ... 1: {name} {found}")
assert counts == [[1, 1, 2, 0, 1, 2, 1, 0, 1, 2], [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]]

times = [each(np.array([1.0]), np.array([0.1])).item() for each in (tenths, numba.njit(tenths))]
print("1 by 0.1: numpy {}, numba {}".format(*times))
assert times == [9, 10]
PY
