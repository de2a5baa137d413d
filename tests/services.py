"""What the tests of the service as a process share: a small feed, and what must be true after."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA, social_feed
from ktsafe.stream.files.releases_read import read_release
from ktsafe.verify import verify
from tests import feeds, running

ATTRIBUTES: dict[str, Any] = {
    "quasi_identifiers": list(SOCIAL_FEED_SCHEMA.quasi_identifiers),
    "sensitive": SOCIAL_FEED_SCHEMA.sensitive,
    "sensitive_values": sorted(SOCIAL_FEED_SCHEMA.sensitive_values),
    "expect_absent": sorted(SOCIAL_FEED_SCHEMA.sensitive_values),
}
TABLES = ("vertices.csv", "edges.csv")


def small_feed(people: int = 150, days: int = 120, seed: int = 1) -> list[feeds.Event]:
    """Return a generated feed as a reader of its JSON would see it."""
    events = social_feed(people=people, days=days, rng=np.random.default_rng(seed))
    return [json.loads(msgspec.json.encode(event)) for event in events]


def check(
    site: running.Site,
    partitions: Sequence[Sequence[feeds.Event]],
    folder: Path,
    *,
    seen: dict[str, str] | None = None,
    dead_letters: int = 0,
) -> dict[str, str]:
    """Check graph, offsets, releases and their bytes; return the manifest digests by release id."""
    assert site.graph() == feeds.fold(partitions, SOCIAL_FEED_SCHEMA.attributes)
    assert sum(site.offsets().values()) == sum(map(len, partitions)) + dead_letters
    releases = site.releases(folder)
    assert len(releases) >= 3
    running.verify_releases([folder])
    digests = {release_id: digest for release_id, (digest, _) in releases.items()}
    assert {r: digests[r] for r in seen or {}} == (seen or {})
    assert site.dead_letters() == dead_letters
    return digests


def drain_with_kills(
    site: running.Site, kills: int, seed: int, folder: Path, within_s: float
) -> tuple[int, dict[str, str]]:
    """Drain the feed, killing the service on the way; return kills done and releases seen."""
    rng = random.Random(seed)
    seen: dict[str, str] = {}
    done = 0
    for number in range(kills):
        process = site.start("--drain")
        if not running.kill_at_random(process, rng.uniform(0.2, within_s)):
            log = (site.folder / "log.txt").read_text()[-2000:]
            assert process.returncode == 0, log
            return done, seen
        done += 1
        for release_id, (digest, _) in site.releases(folder / f"seen-{number}").items():
            assert seen.setdefault(release_id, digest) == digest, f"{release_id} changed its bytes"
    site.drain()
    return done, seen


def copied(site: running.Site, folder: Path, *changes: tuple[str, str]) -> running.Site:
    """Return another service with the same configuration but for some changes."""
    folder.mkdir()
    text = site.config.read_text()
    for before, after in changes:
        text = text.replace(before, after)
    (folder / "ktsafe.toml").write_text(text)
    return dataclasses.replace(site, folder=folder)


def tables(site: running.Site, into: Path) -> dict[str, list[bytes]]:
    """Return the tables of each release that readers see; all are kt-safe."""
    found = {}
    for release_id in site.releases(into):
        release = read_release(into / release_id)
        parts = release.quasi_identifiers(), release.is_sensitive(), release.edges
        assert verify(*parts, release.params).is_safe, f"{release_id} is not safe"
        found[release_id] = [(into / release_id / name).read_bytes() for name in TABLES]
    return found
