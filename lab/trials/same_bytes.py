"""Whether this checkout makes the releases that another one makes, byte for byte.

    python -m lab.trials.same_bytes OTHER [--seeds N] [--people N] [--days N] [--convert]

OTHER is the folder of another checkout, with its own `.venv`. Both read the same feeds, drawn from
seeds 0 to N - 1: people come, change, leave and come back, ties come and go, also before their
people and late, in two files whose clocks differ. Each feed is read in three runs of the service,
so two releases follow a start. What is drawn at random (secrets) is the same in both.

With --convert the first run here is the other one's, and its state is converted after it.

Prints a digest for each seed, and ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

DAY_MS = 86_400_000
BEGIN_MS = 1_767_225_600_000
CONFIG = """\
[attributes]
quasi_identifiers = ["gender"]
sensitive = "health"
sensitive_values = ["chronic"]

[source]
kind = "files"
paths = ["a.jsonl", "b.jsonl"]

[sink]
kind = "files"
folder = "releases"

[dead_letters]
kind = "files"
path = "dead-letters.jsonl"

[state]
folder = "state"

[privacy]
k = 3

[ingest]
lateness_max_s = 172800

[release]
every = "1d"
min_f1 = 0.0

[metrics]
listen = "127.0.0.1:0"
"""
CHILD = """
import itertools, hashlib, secrets, sys
n = itertools.count()
def drawn(size=32):
    return hashlib.shake_256(b"%d" % next(n)).digest(size or 32)
secrets.token_bytes = drawn
secrets.token_hex = lambda size=32: drawn(size).hex()
from pathlib import Path
from ktsafe.stream.service.assembly import serve
from ktsafe.stream.config import settings
serve(settings.load(Path(sys.argv[1])), drain=True)
"""


def main() -> None:
    """Run and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--days", type=int, default=9)
    parser.add_argument("--convert", action="store_true")
    given = parser.parse_args()
    first = given.other if given.convert else Path.cwd()
    differs = False
    for seed in range(given.seeds):
        feeds = feed(random.Random(seed), given.people, given.days)
        here = made(Path.cwd(), feeds, first)
        there = made(given.other, feeds, given.other)
        differs |= here != there
        print(seed, *here, "equal" if here == there else f"other: {there}", flush=True)
    sys.exit(differs)


def feed(rng: random.Random, n_people: int, n_days: int) -> tuple[list[str], list[str]]:
    """Return two feeds of as many events a day as there are people."""
    files: tuple[list[str], list[str]] = ([], [])

    def say(file: int, at_ms: int, kind: str, **told: object) -> None:
        files[file].append(json.dumps({"type": kind, "time": at_ms, **told}))

    def told() -> dict[str, object]:
        return {
            "gender": rng.choice(("f", "m", None)),
            "age": rng.randrange(15, 80),
            "health": rng.choice(("well", "well", "chronic")),
        }

    for day in range(n_days):
        for step in range(n_people):
            at_ms = BEGIN_MS + day * DAY_MS + step * DAY_MS // n_people
            late_ms = rng.choice((0, 0, 0, rng.randrange(DAY_MS)))
            file, dice = rng.randrange(2), rng.random()
            one, two = (f"p{n}" for n in rng.sample(range(n_people), 2))
            if dice < (0.35 if day == 0 else 0.08):
                say(file, at_ms - late_ms, "vertex.upsert", id=one, attributes=told())
            elif dice < 0.85:
                say(file, at_ms - late_ms, "edge.add", source=one, target=two)
            elif dice < 0.95:
                say(file, at_ms - late_ms, "edge.remove", source=one, target=two)
            else:
                say(file, at_ms - late_ms, "vertex.delete", id=one)
    return files


def made(checkout: Path, feeds: tuple[list[str], list[str]], first: Path) -> tuple[int, str]:
    """Return how many releases a checkout makes of feeds, and a digest of all their bytes.

    The first run is of the checkout `first`.
    """
    with tempfile.TemporaryDirectory(prefix="ktsafe-same-") as name:
        folder = Path(name)
        (folder / "ktsafe.toml").write_text(CONFIG)
        for part in (1, 2, 3):
            for file, lines in zip("ab", feeds, strict=True):
                some = lines[: len(lines) * part // 3]
                (folder / f"{file}.jsonl").write_text("".join(line + "\n" for line in some))
            runs = checkout if part > 1 else first
            _run(runs, "-c", CHILD, folder / "ktsafe.toml")
            if runs != checkout:
                _run(checkout, "-m", "lab.convert", folder / "state")
        files = sorted(p for p in (folder / "releases").rglob("*") if p.is_file())
        digest = hashlib.sha256()
        for path in files:
            digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
        return sum(file.name == "manifest.json" for file in files), digest.hexdigest()[:16]


def _run(checkout: Path, *arguments: str | Path) -> None:
    """Run Python in a checkout."""
    python = checkout.absolute() / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, *arguments], check=False, cwd=checkout, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    main()
