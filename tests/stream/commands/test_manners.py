"""Commands give up in seconds, name what is missing, and say how long they take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe.connectors import kafka_topics
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.monitoring.summary import Summary, live_display
from ktsafe.stream.process import command_line

ROOT = Path(__file__).parents[3]


def kafka_config(folder: Path) -> str:
    """Write the example with a broker that is not there."""
    text = (ROOT / "ops/examples/kafka.toml").read_text(encoding="utf-8")
    path = folder / "kafka.toml"
    path.write_text(text.replace("127.0.0.1:9092", "127.0.0.1:9"))
    return str(path)


@pytest.mark.parametrize(
    "line",
    [
        "demo --feed-to CONFIG",
        "status CONFIG --dead-letters",
        "releases read CONFIG --into FOLDER",
        "releases read --kafka 127.0.0.1:9 --topic releases --into FOLDER",
    ],
)
def test_a_broker_that_is_away_is_not_waited_for_as_a_service_would(
    tmp_path: Path,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command says whom it asks and for how long, and then what is wrong."""
    config = kafka_config(tmp_path)
    monkeypatch.setattr(command_line.hurried, "__defaults__", (0.5,))
    line = line.replace("FOLDER", str(tmp_path / "releases"))
    words = line.replace("CONFIG", config).split()
    assert run_command(words) == Exit.UNAVAILABLE
    told = capsys.readouterr().err
    assert "asking 127.0.0.1:9, for at most 0.5 s" in told
    assert "ConnectionRefusedError" in told


def test_a_reader_that_goes_away_gets_no_verdict() -> None:
    """`ktsafe ... | head` ends neither with 0 nor with 1, which say safe and unsafe."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "ktsafe.stream.cli", "config"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (Exit.NOT_READ, b"")


def test_no_state_is_begun_by_what_asks_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`erase` and `rebase` of a service that never ran refuse, and make no folder."""
    text = (ROOT / "ops/examples/files.toml").read_text(encoding="utf-8")
    config = tmp_path / "ktsafe.toml"
    config.write_text(text.replace("/var/lib/ktsafe", str(tmp_path / "state")))
    for words in (["erase", "somebody", str(config)], ["rebase", str(config)]):
        assert run_command([*words, "--yes"]) == Exit.STATE
        assert "no state yet" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_topics_are_asked_for_as_long_as_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`config --topics` waits ten seconds unless told otherwise."""
    words = ["config", kafka_config(tmp_path), "--topics"]
    assert run_command([*words, "--wait", "0.5"]) == Exit.UNAVAILABLE
    assert "for at most 0.5 s" in capsys.readouterr().err
    monkeypatch.setattr(kafka_topics, "check_topics", lambda _kafka, _topics: [])
    assert run_command(words) == Exit.OK
    assert "for at most 10 s" in capsys.readouterr().err


def test_a_feed_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`config` finds the configuration sound, and says which file is missing."""
    config = tmp_path / "ktsafe.toml"
    config.write_text((ROOT / "ops/examples/files.toml").read_text(encoding="utf-8"))
    assert run_command(["config", str(config)]) == Exit.OK
    assert f"missing   {tmp_path / 'feed.jsonl'}" in capsys.readouterr().out
    (tmp_path / "feed.jsonl").touch()
    assert run_command(["config", str(config), "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["missing"] == []


def test_what_takes_long_is_told_in_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal: nothing at first, then the phase, the share and what is left."""
    clock = iter([0.0, 1.0, 4.0, 5.0, 20.0])
    monkeypatch.setattr(command_line.time, "monotonic", lambda: next(clock))
    with command_line.phases("judging") as told:
        for done in (0.1, 0.4, 0.5, 0.8):
            told("ties", done)
    assert capsys.readouterr().err.splitlines() == [
        "ktsafe: judging: ties, 40%, about 6 s left",
        "ktsafe: judging: ties, 80%, about 5 s left",
    ]


def test_on_a_terminal_there_is_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bar names the phase; the counts of a run stand in one line, as they are."""
    monkeypatch.setattr(command_line.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with command_line.phases("judging") as told:
        told("ties", 0.5)
    assert "judging: ties" in capsys.readouterr().err
    with live_display(Summary(), drain=True):
        pass
    assert "0 records" in capsys.readouterr().err
