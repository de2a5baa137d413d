"""Loses the state after every release, restores an old backup, and looks at how it goes on.

    python -m tests.faults.lost_states [--releases 24] [--backup-after 4] [--broker] [--seed 1]

A service makes a sequence from two partitions, undisturbed but for one backup. Then the state is
lost after each further release in turn: the sink holds the releases until then, the backup is
restored, and the service runs to the end of the feed. Each release must have the bytes, manifest
included, of the undisturbed run, and `ktsafe state check` must find the state sound. At last one
byte at the sink is changed, and the service must refuse and name the release.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from ktsafe.connectors.base import ReleaseBundle
from ktsafe.connectors.kafka_topics import (
    KafkaReleaseSink,
    KafkaSettings,
    Role,
    TopicSpec,
    create_topics,
)
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import feeds, launcher, running, services
from tests.faults import on_broker
from tests.faults.kills import ATTRIBUTES, PARTITIONS, copied, release_topic
from tests.faults.trials import commit

PEOPLE, DAYS_A_SLOT = 60, 10
OPTIONS = '[privacy]\nk = 2\nalpha = "1/2"'

Refill = Callable[[running.Site, Path, list[ReleaseBundle]], running.Site]
"""Makes a service like another one, with a sink that holds some releases."""


def main() -> None:
    """Lose as many states as there are releases, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=24)
    parser.add_argument("--backup-after", type=int, default=4)
    parser.add_argument("--broker", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="ktsafe-lost-") as folder:
        done = lose(Path(folder), given.releases, given.backup_after, given.broker, given.seed)
    where = "broker" if given.broker else "files"
    print(f"{where}, revision {commit()}, seed {given.seed}: {done}")


def lose(folder: Path, n_releases: int, backup_after: int, is_broker: bool, seed: int) -> str:
    """Lose the state after each release in turn; return what was seen."""
    days = n_releases * DAYS_A_SLOT
    events = feeds.perturbed(services.small_feed(people=PEOPLE, days=days, seed=seed), seed)
    partitions = feeds.assigned(events, PARTITIONS, seed)
    every = f"{DAYS_A_SLOT}d"
    if is_broker:
        server = on_broker.bootstrap()
        site = running.kafka_site(folder / "whole", partitions, ATTRIBUTES, every, server)
    else:
        site = running.files_site(folder / "whole", partitions, ATTRIBUTES, every)
    site.config.write_text(site.config.read_text().replace("[privacy]", OPTIONS))
    backup = folder / "backup"
    _until(site, backup_after)
    _ktsafe(site, "state", "backup", str(backup))
    _ktsafe(site, "run", "--drain")
    bundles = _bundles(site, folder / "bundles")
    wanted = [_bytes(bundle) for bundle in bundles]
    refill: Refill = _on_topic if is_broker else _in_folder
    lost = range(backup_after + 1, len(bundles) + 1)
    for number in lost:
        one = refill(site, folder / f"lost-{number}", bundles[:number])
        _ktsafe(one, "state", "restore", str(backup))
        _ktsafe(one, "run", "--drain")
        found = [_bytes(each) for each in _bundles(one, folder / f"read-{number}")]
        assert found == wanted, f"other bytes after the state was lost at release {number}"
        _ktsafe(one, "state", "check")
        if not is_broker:
            _changed_is_refused(one, backup, random.Random(seed + number), backup_after)
        print(f"lost after release {number}: goes on, same bytes", flush=True)
    return f"{len(lost)} of {len(lost)} go on with the bytes of the undisturbed run"


def _until(site: running.Site, n_releases: int) -> None:
    """Run a service until it has published so many releases."""
    process = site.start()
    audits = site.folder / "state" / "audit"
    site.wait_until(lambda: audits.is_dir() and len(list(audits.iterdir())) >= n_releases, process)
    process.terminate()
    assert process.wait(240) == 0


def _ktsafe(site: running.Site, *words: str, code: int = Exit.OK) -> str:
    """Run a command in this process; return what it printed."""
    at = 2 if words[0] == "state" else 1
    printed = io.StringIO()
    said = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with said[0], said[1], launcher.overridden(site.overrides):
        found = run_command([*words[:at], str(site.config), *words[at:]])
    assert found == code, f"{words}: {found}\n{printed.getvalue()[-2000:]}"
    return printed.getvalue()


def _bundles(site: running.Site, into: Path) -> list[ReleaseBundle]:
    into.mkdir()
    reader = site.settings.config.sink.release_reader(site.settings.site)
    try:
        return list(reader.read(into))
    finally:
        reader.close()


def _bytes(bundle: ReleaseBundle) -> list[bytes]:
    return [(bundle.folder / name).read_bytes() for name in bundle.files]


def _in_folder(site: running.Site, folder: Path, bundles: list[ReleaseBundle]) -> running.Site:
    one = copied(site, folder)
    (folder / "releases").mkdir()
    for bundle in bundles:
        shutil.copytree(bundle.folder, folder / "releases" / bundle.release_id)
    return one


def _on_topic(site: running.Site, folder: Path, bundles: list[ReleaseBundle]) -> running.Site:
    topic, server = release_topic(site), on_broker.bootstrap()
    other = f"{topic}-{len(bundles)}"
    settings = KafkaSettings(bootstrap_servers=(server,))
    create_topics(settings, [TopicSpec(name=other, role=Role.RELEASES)])
    sink = KafkaReleaseSink(settings, other, transactional_id=f"ktsafe-{other}")
    sink.open()
    for bundle in bundles:
        sink.publish(bundle)
    sink.close()
    return copied(site, folder, (f'"{topic}"', f'"{other}"'))


def _changed_is_refused(
    site: running.Site, backup: Path, dice: random.Random, backup_after: int
) -> None:
    """Change a byte of a release that the backup does not know; the service must name it."""
    releases = sorted(p for p in (site.folder / "releases").iterdir() if p.is_dir())
    release = dice.choice(releases[backup_after:])
    path = dice.choice(sorted(release.iterdir()))
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
    shutil.rmtree(site.folder / "state")
    _ktsafe(site, "state", "restore", str(backup))
    said = _ktsafe(site, "run", "--drain", code=Exit.MISMATCH)
    assert release.name in said, said


if __name__ == "__main__":
    main()
