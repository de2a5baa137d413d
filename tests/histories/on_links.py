"""Histories of real services on a real broker, each drawn from one seed.

    python -m tests.histories.on_links [--seeds 100] [--first 0] [--seed 7] [--beside 4]

Prints a line for each seed, and what was tried in all. Two runs of a seed let the same things
happen; what they meet depends on the machine.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.histories import hurried
from tests.histories.broker_history import BrokerHistory
from tests.histories.links import Link, LinkedBroker
from tests.integration.cluster import Cluster, close_refused_sockets
from tests.integration.conftest import ROOT, SETTINGS

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@contextmanager
def linked(folder: Path, n_links: int) -> Iterator[LinkedBroker]:
    """Give a running broker with so many ways to it."""
    settings = {**SETTINGS, **AUTHORIZER}
    broker = LinkedBroker(
        folder / "broker", n_links=n_links, libs=ROOT / "var/broker/libs", settings=settings
    )
    try:
        broker.start()
        yield broker
    finally:
        broker.close()


def told(
    seed: int, folder: Path, cluster: Cluster, links: tuple[Link, Link], defect: str = ""
) -> BrokerHistory:
    """Run the history of a seed; its folder stays if something is wrong."""
    history = BrokerHistory(seed, folder, cluster, links, defect)
    try:
        history.run()
    except Exception as error:  # noqa: BLE001 -- told with its seed
        history.wrong(f"{type(error).__name__}: {error}")
    if not history.problems:
        shutil.rmtree(history.folder)
    return history


def line(history: BrokerHistory) -> str:
    """Return what a history came to."""
    return (
        f"seed {history.seed} ({history.theme}): "
        f"{'; '.join(history.problems) or 'nothing wrong'}; {dict(sorted(history.counts.items()))}"
    )


def main() -> None:
    """Run seeds; print what is wrong, and how much was tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--beside", type=int, default=4, help="histories at once")
    parser.add_argument("--defect", choices=hurried.DEFECTS, default="", help="plant a defect")
    given = parser.parse_args()
    close_refused_sockets()
    seeds = range(given.first, given.first + given.seeds)
    seeds = seeds if given.seed is None else range(given.seed, given.seed + 1)
    folder = Path(tempfile.mkdtemp(prefix="ktsafe-links-"))
    totals: Counter[str] = Counter()
    free: SimpleQueue[tuple[Link, Link]] = SimpleQueue()
    started = time.monotonic()

    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())  # What has begun comes to its end.

    def one(seed: int) -> BrokerHistory | None:
        if is_over.is_set():
            return None
        links = free.get()
        try:
            return told(seed, folder, cluster, links, given.defect)
        finally:
            free.put(links)

    with linked(folder, 2 * given.beside) as broker, ThreadPoolExecutor(given.beside) as pool:
        cluster = Cluster(broker.start().bootstrap)
        for pair in zip(broker.links[::2], broker.links[1::2], strict=True):
            free.put(pair)
        for done in as_completed([pool.submit(one, seed) for seed in seeds]):
            history = done.result()
            if history is None:
                continue
            totals += history.counts
            totals["histories"] += 1
            totals[history.theme] += 1
            totals["wrong"] += bool(history.problems)
            print(line(history), flush=True)
        cluster.close()
    print(dict(sorted(totals.items())), f"{time.monotonic() - started:.0f} s")
    if not totals["wrong"]:
        shutil.rmtree(folder)
    raise SystemExit(1 if totals["wrong"] else 0)


if __name__ == "__main__":
    main()
