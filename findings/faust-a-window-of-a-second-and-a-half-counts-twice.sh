#!/usr/bin/env bash
# Tumbling windows of a second and a half overlap in faust, so that a tie counts twice
#
# Guess:    a moment is in one tumbling window, whatever length of time the window was given
# Seen:     parts of a second are cut from the distance of windows and kept in their size: every other
#           moment of three is in two windows; a hopping window is in one too many, and half a second fails
# Docs:     promise one size and no overlap, take a timedelta or a fraction, and warn of nothing
# Versions: faust-streaming 0.15.3; Python 3.11.
# Output seen:
#   0.5 s: [0.0]
#   1.4 s: [0.0, 1.0]
#   2.9 s: [1.0, 2.0]
#   3.1 s: [3.0]
#   10 s hopping by 2.5 s: 5 windows hold one moment
#   half a second: range() arg 3 must not be zero
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check faust-streaming==0.15.3
cd "$room"
"$room/venv/bin/python" - <<'PY'
from datetime import timedelta

from faust.windows import HoppingWindow, TumblingWindow

window = TumblingWindow(timedelta(seconds=1.5))
found = {}
for moment in (0.5, 1.4, 2.9, 3.1):
    found[moment] = [start for start, _ in window.ranges(moment)]
    print(f"{moment} s: {found[moment]}")
assert found == {0.5: [0.0], 1.4: [0.0, 1.0], 2.9: [1.0, 2.0], 3.1: [3.0]}
assert [len(TumblingWindow(2).ranges(moment)) for moment in (0.5, 1.4, 2.9, 3.1)] == [1, 1, 1, 1]

hops = HoppingWindow(10, 2.5).ranges(10)
print(f"10 s hopping by 2.5 s: {len(hops)} windows hold one moment")
assert len(hops) == 5
try:
    TumblingWindow(0.5).ranges(0.2)
except ValueError as refused:
    print("half a second:", refused)
else:
    raise AssertionError("the behaviour has changed")
PY
