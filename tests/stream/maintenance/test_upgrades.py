"""A sequence outlives its program: states that older revisions wrote are continued by this one.

`older/<revision>.tar.xz` holds the folder of a service as that revision left it: configuration,
the first part of a feed, state and releases; and `later.jsonl`, the feed's second part.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ktsafe.params import PrivacyParams
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.errors import Exit

OLDER = sorted((Path(__file__).parent / "older").glob("*.tar.xz"))

INTRODUCED = {
    "sybil_margin": 2,
    "birth_wait_max": 12,
    "births": "withhold",
    "qi_change": "hold",
    "alpha_reserve": "0",
    "real_floor": None,
    "effort": "balanced",
    "max_age": 12,
    "aim": "balanced",
}
"""Options of sequences, and the default that each came with: it stays so for ever."""

FIRST = tuple(INTRODUCED)[:7]
"""Options of the first version; those that came later have `LATER` in their metadata."""


def ktsafe(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "ktsafe.stream.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("packed", OLDER, ids=lambda path: path.name.partition(".")[0])
def test_a_sequence_of_an_older_revision_goes_on(packed: Path, tmp_path: Path) -> None:
    """The same sequence has further releases, and all of them are safe together."""
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    config, releases = tmp_path / "ktsafe.toml", tmp_path / "releases"
    before = sorted(path.name for path in releases.iterdir() if path.is_dir())
    bytes_before = {p: p.read_bytes() for p in releases.rglob("*.csv")}
    assert len(before) >= 6

    checked = ktsafe("state", "check", config)
    assert checked.returncode == Exit.OK, checked.stderr
    with (tmp_path / "feed.jsonl").open("a") as feed:
        feed.write((tmp_path / "later.jsonl").read_text())
    done = ktsafe("run", config, "--drain")
    assert done.returncode == Exit.OK, done.stderr

    after = sorted(path.name for path in releases.iterdir() if path.is_dir())
    assert after[: len(before)] == before
    assert len(after) >= len(before) + 2
    assert {path: path.read_bytes() for path in bytes_before} == bytes_before
    manifests = [json.loads((releases / name / "manifest.json").read_text()) for name in after]
    assert len({manifest["sequence_id"] for manifest in manifests}) == 1
    seals = [manifest.get("seal") for manifest in manifests]
    assert seals[: len(before)] == [None] * len(before)
    assert [seal["log"]["size"] for seal in seals[len(before) :]] == [
        *range(len(before), len(after))
    ]
    verified = ktsafe("verify", releases)
    assert verified.returncode == Exit.OK, verified.stdout + verified.stderr
    audited = ktsafe("audit", releases, "--map", tmp_path / "state" / "audit")
    assert audited.returncode == Exit.OK, audited.stdout + audited.stderr


def test_check_and_run_agree_on_another_configuration(tmp_path: Path) -> None:
    """What `run` refuses is not called sound by `state check`, and the reason is the same."""
    with tarfile.open(OLDER[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    config = tmp_path / "ktsafe.toml"
    config.write_text(config.read_text().replace("k = 4", "k = 5"))
    said = [ktsafe("state", "check", config), ktsafe("run", config, "--drain")]
    assert [done.returncode for done in said] == [Exit.STATE, Exit.STATE]
    reasons = [done.stderr.partition("ktsafe: ")[2] for done in said]
    assert reasons[0] == reasons[1]
    assert "the configuration differs" in reasons[0]


def test_options_that_came_later_end_no_sequence() -> None:
    """What a sequence fixes at the defaults is what its first version fixed, option by option."""
    fixed = SequenceOptions().to_fixed()
    assert fixed == {name: INTRODUCED[name] for name in FIRST}
    assert PrivacyParams().to_fixed() == PrivacyParams().to_mapping()


def test_no_default_of_an_option_changes() -> None:
    """A sequence whose configuration does not name an option goes on with what it meant."""
    assert SequenceOptions().to_mapping() == INTRODUCED
