"""Records what must stay equal while the program is rebuilt, and compares two records.

    python -m lab.recording --out record.json [--data FOLDER]
    python -m lab.recording --compare old.json new.json

A record is one JSON file: digests of released tables and of saved sequences, verdicts on releases
that were tampered with, and figures of attacks, all of fixed seeds. The comparison prints each name
whose value differs, and ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from lab.recording.commands import Figures, under
from lab.recording.histories import history
from lab.recording.judged import of_sequence, of_single_release
from lab.recording.releases import of_data_sets, of_demo

HISTORIES: Final = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="the file to write")
    what.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--data", type=Path, help="folder with cora, fb-reed98, ego-facebook")
    given = parser.parse_args(arguments)
    if given.compare is not None:
        old, new = (json.loads(path.read_bytes()) for path in given.compare)
        found = differences(old, new)
        print(*found, f"{len(found)} differences in {len(old | new)} figures", sep="\n")
        return int(bool(found))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ktsafe-recording-") as folder:
        text = json.dumps(record(Path(folder), given.data), indent=1, sort_keys=True)
    given.out.write_text(text + "\n", encoding="utf-8")
    return 0


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return a line for each name whose value differs, or that one record lacks."""
    lines = []
    for name in sorted({**old, **new}):
        was, now = old.get(name, "nothing"), new.get(name, "nothing")
        if isinstance(was, dict) and isinstance(now, dict):
            lines += [f"{name}: {line}" for line in differences(was, now)]
        elif was != now:
            texts = (textwrap.shorten(json.dumps(value), 100) for value in (was, now))
            lines.append(f"{name}: {' -> '.join(texts)}")
    return lines


def record(room: Path, data: Path | None) -> Figures:
    """Return all that is recorded, by name; `room` is an empty folder."""
    parts: dict[str, Callable[[], Figures]] = {
        "data": lambda: of_data_sets(data, room / "data"),
        "demo": lambda: of_demo(room / "demo"),
        "single": lambda: of_single_release(room / "single"),
        "sequence": lambda: of_sequence(room / "sequence"),
    }
    parts |= {f"history/{n:02}": partial(history, n) for n in range(HISTORIES)}
    found: Figures = {}
    for name, part in parts.items():
        began = time.monotonic()
        found |= under(name, part())
        print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
