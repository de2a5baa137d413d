#!/usr/bin/env bash
# A long number that fastparquet wrote is another number when pandas reads it with pyarrow
#
# Guess:    a column of whole numbers with gaps (Int64) is read alike by both engines of pandas
# Seen:     both find Int64 in what pyarrow wrote; of what fastparquet wrote pyarrow makes
#           fractions: two people with ids that differ in the last digit become one, without a word
# Versions: pandas 3.1.1, pyarrow 26.0.1, fastparquet 2026.9.0; Python 3.11.
# Output seen:
#   written by pyarrow, read by pyarrow: Int64, 2 ids
#   written by pyarrow, read by fastparquet: Int64, 2 ids
#   written by fastparquet, read by pyarrow: float64, 1 id
#   written by fastparquet, read by fastparquet: Int64, 2 ids
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  pandas==3.1.1 pyarrow==26.0.1 fastparquet==2026.9.0
cd "$room"
"$room/venv/bin/python" -W ignore - <<'PY'
import pandas as pd

ids = [1152921504606846977, 1152921504606846978, None]
people = pd.DataFrame({"id": pd.array(ids, dtype="Int64")})
found = {}
for writer in ("pyarrow", "fastparquet"):
    people.to_parquet("people.parquet", engine=writer)
    for reader in ("pyarrow", "fastparquet"):
        read = pd.read_parquet("people.parquet", engine=reader)["id"]
        kind, count = str(read.dtype), read.nunique()
        found[writer, reader] = kind, count
        print(f"written by {writer}, read by {reader}: {kind}, {count} id{'s' * (count > 1)}")

whole = ("Int64", 2)
assert found.pop(("fastparquet", "pyarrow")) == ("float64", 1)
assert list(found.values()) == [whole, whole, whole]
PY
