"""A sequence outlives its program: states that older revisions wrote are continued by this one.

They are converted once (`python -m lab.convert`), and so are their sequences.

`older/<revision>.tar.xz` holds the folder of a service as that revision left it: configuration,
the first part of a feed, state and releases; and `later.jsonl`, the feed's second part. `ended/`
holds likewise what a revision wrote whose sequences end.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit

ROOT = Path(__file__).parents[3]
OLDER = sorted((Path(__file__).parent / "older").glob("*.tar.xz"))
ENDED = Path(__file__).parent / "ended" / "9a02dc2.tar.xz"


def opened(packed: Path, folder: Path) -> Path:
    """Unpack what a revision left; do with keys that went what their errors say."""
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    config = folder / "ktsafe.toml"
    text = config.read_text().replace('schema_file = "schema.toml"\n', "")
    text = text.replace("[metrics]\nenabled = false\n", '[metrics]\nlisten = "127.0.0.1:0"\n')
    config.write_text(f"{text}\n{(folder / 'schema.toml').read_text()}")
    return config


def converted(packed: Path, folder: Path) -> Path:
    """Unpack what a revision left, convert its state, and return its configuration."""
    config = opened(packed, folder)
    assert convert(folder).returncode == 0
    return config


def convert(folder: Path) -> subprocess.CompletedProcess[str]:
    """Convert a state in another process, as an operator does."""
    command = [sys.executable, "-m", "lab.convert", str(folder / "state")]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def further(releases: int) -> str:
    """Return events after `later.jsonl`: ties that come and go, for so many slots of 30 days."""
    rng = random.Random(1)
    begin = datetime(2026, 8, 29, tzinfo=UTC)
    events = []
    for hour in range(0, releases * 30 * 24, 12):
        one, other = rng.sample(range(60), 2)
        kind = rng.choice(["edge.add", "edge.remove"])
        time = (begin + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
        events.append({"type": kind, "source": f"p{one}", "target": f"p{other}", "time": time})
    return "".join(json.dumps(event) + "\n" for event in events)


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files but locks, by their paths."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != ".lock"}


@pytest.mark.parametrize("packed", OLDER, ids=lambda path: path.name.partition(".")[0])
def test_a_sequence_of_an_older_revision_goes_on(packed: Path, tmp_path: Path) -> None:
    """Six further releases are in the same sequence, and all of them are safe together."""
    config, releases = converted(packed, tmp_path), tmp_path / "releases"
    before = sorted(path.name for path in releases.iterdir() if path.is_dir())
    published = content(releases)
    assert len(before) >= 6

    assert run_command(["config", str(config), "--state"]) == Exit.OK
    with (tmp_path / "feed.jsonl").open("a") as feed:
        feed.write((tmp_path / "later.jsonl").read_text() + further(5))
    assert run_command(["run", str(config), "--drain"]) == Exit.OK
    assert run_command(["config", str(config), "--state"]) == Exit.OK

    after = sorted(path.name for path in releases.iterdir() if path.is_dir())
    assert after[: len(before)] == before
    assert len(after) >= len(before) + 6
    assert content(releases).items() >= published.items()
    manifests = [json.loads((releases / name / "manifest.json").read_text()) for name in after]
    assert len({manifest["sequence_id"] for manifest in manifests}) == 1
    stated = [(manifest["params"]["t"], manifest["params"]["epsilon"]) for manifest in manifests]
    assert stated[: len(before)] == [("1/10", 5)] * len(before)
    assert set(stated[len(before) :]) == {("0", 0)}
    # What an older version showed in place stays there.
    assert {manifest["values"] for manifest in manifests[len(before) :]} == {"in place"}
    last = json.loads((tmp_path / "state/audit" / after[-1] / "audit.json").read_text())
    assert (last["sequence"]["margin"], last["sequence"]["margin_until"]) == (0, None)
    sizes = [(manifest.get("seal") or {}).get("log", {}).get("size") for manifest in manifests]
    first = sizes.index(next(size for size in sizes if size is not None))
    assert first <= len(before)
    assert sizes == [None] * first + [*range(first, len(after))]
    assert run_command(["verify", str(releases)]) == Exit.OK
    assert run_command(["audit", str(releases), "--map", str(tmp_path / "state/audit")]) == Exit.OK


def test_check_and_run_agree_on_another_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `run` refuses is not called sound by `config --state`, and the reason is the same."""
    config = converted(OLDER[0], tmp_path)
    config.write_text(config.read_text().replace("k = 4", "k = 5"))
    assert "the configuration differs" in refused(config, capsys)


@pytest.mark.parametrize("packed", [OLDER[0], ENDED], ids=lambda path: path.name.partition(".")[0])
def test_a_sequence_that_was_not_converted_is_refused_by_its_reason(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is changed, and its releases still verify; cohorts of unequal rows never go on."""
    config = opened(packed, tmp_path)
    store = content(tmp_path / "releases"), content(tmp_path / "state/audit")
    assert "python -m lab.convert FOLDER" in refused(config, capsys)
    assert (content(tmp_path / "releases"), content(tmp_path / "state/audit")) == store
    assert run_command(["verify", str(tmp_path / "releases")]) == Exit.OK
    if packed == ENDED:
        told = convert(tmp_path)
        assert told.returncode == 1
        assert told.stderr.startswith("None of today's options can continue this sequence")


def refused(config: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one reason for which `config --state` and `run` refuse a state."""
    reasons = []
    for command in (["config", str(config), "--state"], ["run", str(config), "--drain"]):
        assert run_command(command) == Exit.STATE
        reasons.append(capsys.readouterr().err.partition("ktsafe: ")[2])
    assert reasons[0] == reasons[1]
    return reasons[0]
