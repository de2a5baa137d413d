"""Runs the benchmarks named on the command line, or all of them."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run each benchmark in a process of its own; return the number that failed."""
    there = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    names = sys.argv[1:] or there
    if unknown := sorted(set(names) - set(there)):
        print(f"There is no benchmark {unknown[0]!r}; there are: {', '.join(there)}.")
        return 2
    failed = 0
    for name in names:
        print(f"== {name}", flush=True)
        failed += (
            subprocess.run(
                [sys.executable, "-m", f"lab.benchmarks.bench_{name}"], check=False
            ).returncode
            != 0
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
