#!/usr/bin/env bash
# A scale in Parquet has another order when it was written without a dictionary
#
# Guess:    an ordered column of categories is read with its order, however its values were packed
# Seen:     with use_dictionary=False it is still ordered, but by whoever comes first in the file:
#           the least is another, and categories without people are gone, without a word
# Versions: pyarrow 26.0.1, pandas 3.1.1; Python 3.11.
# Output seen:
#   with a dictionary: ['well', 'ill', 'dead', 'unknown'], ordered True, least well
#   without: ['dead', 'well', 'ill'], ordered True, least dead
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pandas as pd

scale = ["well", "ill", "dead", "unknown"]
health = pd.Categorical(["dead", "well", "ill", "well"], categories=scale, ordered=True)
people = pd.DataFrame({"health": health})


def read_back(name: str, packed: bool) -> tuple[list[str], bool, str]:
    """Return the categories, whether they are ordered, and the least value."""
    people.to_parquet("people.parquet", engine="pyarrow", use_dictionary=packed)
    column = pd.read_parquet("people.parquet", engine="pyarrow")["health"]
    found = list(column.cat.categories), column.cat.ordered, column.min()
    print("{}: {}, ordered {}, least {}".format(name, *found))
    return found


assert read_back("with a dictionary", packed=True) == (scale, True, "well")
assert read_back("without", packed=False) == (["dead", "well", "ill"], True, "dead")
PY
