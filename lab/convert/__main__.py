"""Converts a state of a build before 0.1.0 into that of this version, once.

    python -m lab.convert FOLDER

FOLDER is `[state] folder` of a service that does not run. Its sequence goes on, with values in
place and k of places where it began so. A backup is converted after it was restored by the version
that made it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ktsafe.connectors.base import WITHDRAWN
from ktsafe.stream.config.places import AUDIT
from ktsafe.stream.files.private_audits import note
from lab.convert import sequence, store


def main() -> None:
    """Convert the state in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    store.convert(folder)
    found = sequence.convert(folder)
    for marker in (folder / AUDIT).glob(f"*/{WITHDRAWN}"):
        # Markers had no sum.
        if (told := marker.read_bytes()).endswith(b"}\n"):
            note(marker.parent, told)
    sys.stdout.write(f"{folder}: converted, {f'sequence {found}' if found else 'no sequence'}\n")


if __name__ == "__main__":
    main()
