"""Histories of the whole service, each drawn from one seed.

    python -m tests.histories [--seeds 1000] [--first 0] [--seed 7]

Prints a line for each seed with something wrong, and what was tried in all. With `--seed` one
history runs twice: what is printed of both is the same, byte for byte.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tests.histories.history import REAL_ONE_IN, History
from tests.histories.judge import judge

MEMORY = Path("/dev/shm")
ENDS_WITHIN_S = 300
"""Of the core: a busy machine is no defect. Waiting for ever ends after ten times as long."""


class Endless(BaseException):
    """A history takes longer than any should; no handler of errors is to stop it."""


def told(seed: int) -> History:
    """Run the history of a seed, and judge it."""
    where = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="ktsafe-history-", dir=where))
    history = History(seed, folder, real=seed % REAL_ONE_IN == REAL_ONE_IN - 5)
    try:
        history.run()
        judge(history)
    except Exception as error:
        history.wrong(f"{type(error).__name__}: {error}")
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return history


def main() -> None:
    """Run seeds; print what is wrong, and how much was tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--stop", action="store_true", help="end at the first with something wrong")
    parser.add_argument("--seed", type=int, help="one history, twice")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if given.seed is not None:
        one, again = told(given.seed), told(given.seed)
        print(line(one))
        print(line(again))
        raise SystemExit(1 if one.problems or line(one) != line(again) else 0)
    totals: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for each in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(each, late)
    with suppress(KeyboardInterrupt):  # What was tried until then is told.
        for seed in range(given.first, given.first + given.seeds):
            signal.setitimer(signal.ITIMER_PROF, ENDS_WITHIN_S)
            signal.alarm(10 * ENDS_WITHIN_S)
            try:
                history = told(seed)
            except Endless:
                totals["problems"] += 1
                print(f"seed {seed}: no end within {ENDS_WITHIN_S} s of the core", flush=True)
                continue
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.alarm(0)
            count(history, totals)
            codes += history.codes
            if history.problems:
                print(line(history), flush=True)
                if given.stop:
                    break
    print(dict(sorted(totals.items())), dict(sorted(codes.items())))
    raise SystemExit(1 if totals["problems"] else 0)


def late(*_: object) -> NoReturn:
    """End a history from outside."""
    raise Endless


def count(history: History, totals: Counter[str]) -> None:
    """Add a history to what was tried; slots whose release was made or withheld count."""
    totals.update(history.counts)
    n_releases = len(history.landings)
    totals["seeds"] += 1
    totals["releases"] += n_releases
    totals["real releases"] += n_releases if history.real else 0
    totals["slots"] += n_releases + history.counts["withheld"]
    totals["problems"] += bool(history.problems)


def line(history: History) -> str:
    """Return what a history came to."""
    return (
        f"seed {history.seed} ({history.theme}): {'; '.join(history.problems) or 'nothing wrong'}; "
        f"{len(history.landings)} releases, {dict(sorted(history.codes.items()))}, "
        f"trace {history.trace:08x}"
    )


if __name__ == "__main__":
    main()
