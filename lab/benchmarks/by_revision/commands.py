"""What the commands take that a first user types, by this revision's program or an older one's.

    python -m lab.benchmarks.by_revision.commands [--of release] [--program FILE]
        [--people 100000] [--ties 1000000]

`--of release`: a uniform network of ten quasi-identifier tuples is written as CSV, then `ktsafe
anonymize` with one thread and its defaults, whose JSON tells F1 of its ties, and `ktsafe verify`
of what it made. `--of demo`: `ktsafe demo`, thirteen releases. Each is done in small first, so that
kernels are compiled; only what follows counts. `--of cold`: the first release of `ktsafe demo`
where no kernel is compiled. Prints core seconds of all processes, and a hash of
the edges of the release or how many releases there are: those of the demo are drawn anew each time.

The options are those of 41a828f, so `--program` may be of any revision since then.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ktsafe import AttributedGraph
from ktsafe.graph.synthetic import uniform

SEED = 0
SMALL = (1_000, 5_000)
PROGRAM = Path(sys.executable).with_name("ktsafe")


def main() -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=("release", "demo", "cold"), default="release", dest="what")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="ktsafe of a revision")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--ties", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ktsafe-") as folder:
        program, room = given.program.absolute(), Path(folder)
        if given.what == "demo":
            found = _demo(program, room)
        elif given.what == "cold":
            found = _cold(program, room)
        else:
            found = _release(program, room, given.people, given.ties)
    print(json.dumps(found), flush=True)
    return 0


def _release(program: Path, room: Path, people: int, ties: int) -> dict[str, float | str]:
    for name, n, m in (("small", *SMALL), ("asked", people, ties)):
        there = room / name
        there.mkdir()
        _write(there, uniform(n, m, rng=np.random.default_rng(SEED)))
        made = there / "release"
        places = {
            "vertices": there / "vertices.csv",
            "edges": there / "edges.csv",
            "schema": there / "schema.toml",
            "out": made,
            "audit": there / "audit",
        }
        options = [f"--{option}={place}" for option, place in places.items()]
        asked = (f"--seed={SEED}", "--workers=1", "--json")
        core_s, printed = _core_s(program, "anonymize", *options, *asked)
        verify_core_s, _ = _core_s(program, "verify", str(made))
    # While kernels were compiled, 41a828f wrote more than its JSON.
    f1 = json.loads(printed)["figures"]["usefulness"]["edges"]["f1"]
    return {"core_s": core_s, "told": f"{f1:.3f}; {verify_core_s}", "hash": _hash(made)}


def _demo(program: Path, room: Path) -> dict[str, float | str]:
    _core_s(program, "demo", f"--dir={room / 'small'}", "--people=300", "--days=40", "--port=0")
    core_s, _ = _core_s(program, "demo", f"--dir={room / 'demo'}", "--port=0")
    return {"core_s": core_s, "releases": _n_releases(room)}


def _cold(program: Path, room: Path) -> dict[str, float | str]:
    os.environ["NUMBA_CACHE_DIR"] = str(room / "kernels")
    core_s, _ = _core_s(program, "demo", f"--dir={room / 'demo'}", "--days=1", "--port=0")
    return {"core_s": core_s, "releases": _n_releases(room)}


def _n_releases(room: Path) -> int:
    return len(list((room / "demo" / "releases").glob("*/manifest.json")))


def _write(folder: Path, graph: AttributedGraph) -> None:
    """Write a network as its owner has it."""
    schema = graph.schema
    names = [f"p{v}" for v in range(graph.n_vertices)]
    columns = [
        np.array(values)[graph.codes[:, j]].tolist() for j, values in enumerate(graph.categories)
    ]
    with (folder / "vertices.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *schema.attributes])
        writer.writerows(zip(names, *columns, strict=True))
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows((names[u], names[v]) for u, v in graph.edges.tolist())
    (folder / "schema.toml").write_text(
        "[attributes]\n"
        f"quasi_identifiers = {json.dumps(list(schema.quasi_identifiers))}\n"
        f"sensitive = {json.dumps(schema.sensitive)}\n"
        f"sensitive_values = {json.dumps(sorted(schema.sensitive_values))}\n",
        encoding="utf-8",
    )


def _core_s(program: Path, *arguments: str) -> tuple[float, bytes]:
    """Run a command; return the core seconds of its processes, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(used, 2), done.stdout


def _hash(release: Path) -> str:
    """Return a hash of the edges of a release."""
    path = next(release.glob("edges.csv*"))
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return hashlib.sha256(text).hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
