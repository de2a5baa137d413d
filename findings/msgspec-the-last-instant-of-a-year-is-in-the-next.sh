#!/usr/bin/env bash
# The last instant of a year is in the next one when msgspec reads it
#
# Guess:    of nine digits behind the point, as Java and Go write them, those past the sixth are cut
# Seen:     msgspec rounds, by the seventh digit, where Python's own reader cuts and pyarrow keeps: a tie of
#           31 December falls into the release of another year, and two readers disagree on its window
# Docs:     name the format and say nothing of further digits
# Versions: msgspec 0.23.0, pyarrow 26.0.1; Python 3.11.
# Output seen:
#   msgspec: 2026-01-01T00:00:00+00:00
#   Python: 2025-12-31T23:59:59.999999+00:00
#   pyarrow: 2025-12-31 23:59:59.999999500Z
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check msgspec==0.23.0 pyarrow==26.0.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
from datetime import datetime

import msgspec
import pyarrow as pa

text = "2025-12-31T23:59:59.999999500Z"
rounded = msgspec.json.decode(f'"{text}"', type=datetime)
cut = datetime.fromisoformat(text)
kept = pa.scalar(text).cast(pa.timestamp("ns", "UTC"))
print("msgspec:", rounded.isoformat())
print("Python:", cut.isoformat())
print("pyarrow:", kept.cast(pa.string()))
assert rounded.isoformat() == "2026-01-01T00:00:00+00:00"
assert cut.isoformat() == "2025-12-31T23:59:59.999999+00:00"
assert (kept.value - 500) // 1000 == int(cut.timestamp()) * 10**6 + 999_999
PY
