"""Feeds whatever bytes to what reads bytes from outside: no crash, no hang, only named errors.

    python -m tests.faults.fuzz [--inputs 1000000] [--seed 1]
    python -m tests.faults.fuzz --target events --replay FILE

Targets: `events` (plain, CloudEvents structured and binary, up to the change of the graph),
`config` (a service's TOML file), `release` (a release folder up to its verdict), `topic` (records
of a release topic), `backup` (restored from its listing), `parquet` (a table). libFuzzer, by
atheris, mutates valid examples, led by the coverage of our modules; most mutations keep the
structure (JSON values, TOML lines, CSV rows). Each input has `LIMIT_S`; one that crashes or hangs
is kept as a file, and its name is printed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHARES = {
    "events": 0.8395,
    "config": 0.06,
    "release": 0.03,
    "topic": 0.04,
    "backup": 0.03,
    "parquet": 0.0005,
}
"""How many of the inputs go to each target; the later ones read and write files, and each table of
Parquet is read by a process of its own."""
LIMITS_S = {"parquet": 60}
"""Another limit where an input starts a process, which on a busy machine waits for its turn."""
LIMIT_S = 10
MEMORY_MB = 2_048


def main() -> None:
    """Run every target in a process of its own and print what it did; or one target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=SHARES)
    parser.add_argument("--replay", type=Path, help="one input that was kept")
    parser.add_argument("--keep", type=Path, default=Path("var/fuzz"), help="where they are kept")
    given = parser.parse_args()
    if given.replay:
        fuzz_one(given.target, [str(given.replay)])
    given.keep.mkdir(parents=True, exist_ok=True)
    failed = False
    for target in [given.target] if given.target else SHARES:
        share = 1.0 if given.target else SHARES[target]
        numbers = {target: round(given.inputs * share)}
        done, told = run(numbers, given.seed, given.keep)[target]
        failed |= bool(told)
        print(f"{target}: {done:,} inputs, {told or 'nothing found'}", flush=True)
    sys.exit(failed)


def run(inputs: dict[str, int], seed: int, keep: Path) -> dict[str, tuple[int, str]]:
    """Fuzz targets by their numbers of inputs; return how many each had, and what was found."""
    with tempfile.TemporaryDirectory(prefix="ktsafe-fuzz-", dir=memory_folder()) as temporary:
        # What a target leaves there goes with it; it never ends by itself.
        runs = [
            (
                target,
                [
                    f"-runs={number}",
                    f"-seed={seed}",
                    f"-timeout={LIMITS_S.get(target, LIMIT_S)}",
                    f"-rss_limit_mb={MEMORY_MB}",
                    f"-artifact_prefix={keep}/{target}-",
                    "-max_len=8192",
                    "-print_final_stats=1",
                ],
            )
            for target, number in inputs.items()
        ]
        command = [sys.executable, "-m", "tests.faults.fuzz_targets", "--each", temporary]
        subprocess.run(command, input=json.dumps(runs), text=True, check=True)
        return {
            target: _outcome(Path(temporary) / target, number) for target, number in inputs.items()
        }


def _outcome(folder: Path, inputs: int) -> tuple[int, str]:
    told = (folder / "told").read_text(encoding="utf-8", errors="replace")
    status = int((folder / "status").read_text(encoding="ascii"))
    counted = re.search(r"number_of_executed_units: (\d+)", told)
    executed = int(counted[1]) if counted else 0
    if status == 0 and executed >= inputs:
        return executed, ""
    return executed, f"exit {status}\n{told[-4000:]}"


def memory_folder() -> str | None:
    """Return a folder in memory, where there is one: millions of small files pass through."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def fuzz_one(target: str, options: list[str]) -> None:
    """Run the target on files that were kept; does not return."""
    command = [sys.executable, "-m", "tests.faults.fuzz_targets", target, *options]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
