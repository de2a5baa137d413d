"""Accounts that an attacker plants through the feed, in the service as it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ktsafe.assess.attacks import Case
from ktsafe.stream.files.private_audits import read_declared, read_owners
from ktsafe.stream.files.releases_read import read_release, release_folders
from ktsafe.stream.release.audits import Truth, traced_of
from tests import feeds, running
from tests.ktsafe.assess.attacks.sybils import left

K, MARGIN = 4, 2
ATTRIBUTES = {
    "quasi_identifiers": ["sex"],
    "sensitive": "health",
    "sensitive_values": ["ill"],
    "expect_absent": ["ill"],
}


def joins(people: int, planted: int) -> Iterator[feeds.Event]:
    """Yield a crowd that is there, then newcomers and planted accounts of another kind, mixed."""
    when = [("crowd", "f", 1, 40), ("p", "m", 2, people), ("sybil", "m", 2, planted)]
    for name, sex, month, number in when:
        for i in range(number):
            # Half of the newcomers come a month later: who comes at once cannot be chosen among.
            yield {
                "type": "vertex.upsert",
                "id": f"{name}{i}",
                "attributes": {"sex": sex, "health": "well"},
                "time": f"2026-{month + (i % 2) * (month - 1):02}-03T00:{i // 60:02}:{i % 60:02}Z",
            }
    for month in range(4, 9):
        yield {
            "type": "vertex.upsert",
            "id": "crowd0",
            "attributes": {"health": "well"},
            "time": f"2026-{month:02}-03T00:00:00Z",
        }


def attacked(folder: Path, people: int, planted: int) -> list[list[int]]:
    """Run the service on such a feed; count who is left in each release with accounts in it."""
    events = sorted(joins(people, planted), key=feeds.time_us)
    options = f"sybil_margin = {MARGIN}\nbirth_wait_max = 1"
    site = running.sequence_site(folder / "site", events, ATTRIBUTES, "month", options)
    text = site.config.read_text(encoding="utf-8")
    site.config.write_text(re.sub(r"\[privacy\]\n", f"[privacy]\nk = {K}\nalpha = 1.0\n", text))
    site.drain()
    audits = site.folder / "state" / "audit"
    truth, found = Truth(folder / "feed" / "feed-0.jsonl", None), []
    paths = sorted(path.parent for path in (site.folder / "releases").glob("*/manifest.json"))
    for path in release_folders(paths):
        release = read_release(path)
        name = release.manifest.release_id
        true = truth.of(release.manifest, read_declared(audits, name))
        traced = traced_of(release, true, read_owners(audits, name))
        case = Case(traced.original, traced.released, traced.behind)
        own = np.array([person.startswith("sybil") for person in true.people], dtype=np.bool_)
        accounts = np.flatnonzero(own)
        found += [left(case, accounts)] if np.isin(case.original_of, accounts).any() else []
    return found


@pytest.mark.parametrize("people", [3, 10, 17])
def test_accounts_within_the_margin_leave_k_candidates(tmp_path: Path, people: int) -> None:
    """Whoever is published with them still has k candidates who are not the attacker's."""
    found = attacked(tmp_path, people, MARGIN)
    assert bool(found) == (people > K)
    assert all(n >= K for counts in found for n in counts)


def test_accounts_beyond_the_margin_find_people(tmp_path: Path) -> None:
    """The positive control: among many accounts a newcomer is left nearly alone."""
    found = attacked(tmp_path, 1, 6 * K)
    assert found
    assert min(map(min, found)) < K
