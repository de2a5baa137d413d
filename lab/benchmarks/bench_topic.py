"""Bytes that releases take in a topic, whole and as changes of the one before, on a real broker.

    python -m lab.benchmarks.bench_topic [FOLDER] [--full-every 12] [--releases 12]
        [--kafka HOST:PORT]

The last releases of a folder, as `ktsafe demo` or `lab.benchmarks.bench_further --folder` leave
them, are published to a topic with `full_every = 1`, and to another with the number given. Both are
read back and compared. Printed are the bytes of each topic's log on the broker's disk (what was
committed, with headers and marks of transactions), their ratio to those of one whole release, and
the core seconds of this process for a release, to publish and to read. Without a folder a demo
sequence of 200 people is made first.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from ktsafe.connectors.base import MANIFEST, ReleaseBundle
from ktsafe.connectors.bundles import manifest_sums
from ktsafe.connectors.kafka_topics import (
    KafkaReleaseReader,
    KafkaReleaseSink,
    KafkaSettings,
    Role,
    TopicSpec,
    client,
    create_topics,
)
from ops.broker.broker import Broker


def main() -> int:
    """Measure and print; return 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="a folder of releases")
    parser.add_argument("--full-every", type=int, default=12)
    parser.add_argument("--releases", type=int, default=12, help="so many of the last ones")
    parser.add_argument("--kafka", help="bootstrap server; default: start a broker for the run")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ktsafe-topic-")))
        folder = given.folder or demo(scratch / "demo")
        server = given.kafka
        if server is None:
            broker = Broker(scratch / "broker")
            stack.callback(broker.stop)
            server = broker.start().bootstrap
        settings = KafkaSettings(bootstrap_servers=(server,))
        bundles = read(folder)[-given.releases :]
        whole = sum((bundles[0].folder / name).stat().st_size for name in bundles[0].files)
        print(f"{len(bundles)} releases of {folder}, the first of {whole:,} bytes")
        for full_every in (1, given.full_every):
            measure(settings, bundles, full_every, whole, scratch / f"read-{full_every}")
    return 0


def demo(folder: Path) -> Path:
    """Make a small sequence; return its folder of releases."""
    command = [sys.executable, "-m", "ktsafe", "demo", "--people=200", "--port=0"]
    subprocess.run([*command, f"--dir={folder}"], check=True, capture_output=True)
    return folder / "releases"


def read(folder: Path) -> list[ReleaseBundle]:
    """Return the releases of a folder, each beside the one before."""
    found: list[ReleaseBundle] = []
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        place = manifest.parent
        names = manifest_sums(manifest.read_bytes(), place.name)
        time_ms = manifest.stat().st_mtime_ns // 1_000_000
        bundle = ReleaseBundle(place.name, time_ms, place, (MANIFEST, *names))
        former = found[-1].folder if found else None
        found.append(dataclasses.replace(bundle, former=former))
    return found


def measure(
    settings: KafkaSettings,
    bundles: Sequence[ReleaseBundle],
    full_every: int,
    whole: int,
    into: Path,
) -> None:
    """Publish all releases to a new topic, read them back, and print what that took."""
    topic = f"releases-{uuid.uuid4().hex[:8]}"
    create_topics(settings, [TopicSpec(name=topic, role=Role.RELEASES)])
    sink = KafkaReleaseSink(settings, topic, transactional_id=topic, full_every=full_every)
    sink.open()
    began_s = time.process_time()
    for bundle in bundles:
        sink.publish(bundle)
    publish_s = (time.process_time() - began_s) / len(bundles)
    sink.close()
    began_s = time.process_time()
    found = list(KafkaReleaseReader(settings, topic).read(into))
    read_s = (time.process_time() - began_s) / len(bundles)
    assert [digests(bundle) for bundle in found] == [digests(bundle) for bundle in bundles]
    size = log_bytes(settings, topic)
    print(
        f"full_every {full_every:3}: {size:12,} bytes in the topic, {size / whole:6.3f} releases; "
        f"publish {publish_s:.3f}, read {read_s:.3f} core s a release",
        flush=True,
    )


def digests(bundle: ReleaseBundle) -> list[str]:
    """Return the sha256 of each file."""
    return [hashlib.sha256((bundle.folder / n).read_bytes()).hexdigest() for n in bundle.files]


def log_bytes(settings: KafkaSettings, topic: str) -> int:
    """Return the bytes of the topic's log on the broker's disk."""
    with client.admin_client("measure", topic, settings) as admin:
        brokers = admin.describe_log_dirs()
    return sum(
        partition["partition_size"]
        for broker in brokers
        for place in broker["log_dirs"]
        for told in place["topics"]
        if told["name"] == topic
        for partition in told["partitions"]
    )


if __name__ == "__main__":
    sys.exit(main())
