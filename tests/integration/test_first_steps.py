"""The first steps with Kafka, as docs/operators.md has them, on a real broker."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from ktsafe.connectors.letters import PREFIX
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests.integration.cluster import Cluster
from tests.running import UNATTACKED

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operators.md").read_text(encoding="utf-8")


def configuration(folder: Path, cluster: Cluster) -> Path:
    """Write the example with the broker of the tests, topics and a port of its own."""
    text = (ROOT / "ops/examples/kafka.toml").read_text(encoding="utf-8")
    text = text.replace("127.0.0.1:9092", cluster.bootstrap).replace("social-graph", folder.name)
    text = text.replace("/var/lib/ktsafe", "private/state")
    path = folder / "ktsafe.toml"
    path.write_text(f'{text}\n[metrics]\nlisten = "127.0.0.1:0"\n\n{UNATTACKED}')
    return path


def test_every_command_of_the_page_succeeds(
    tmp_path: Path,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From a file of events to verified releases on a topic; each line is typed as it stands."""
    monkeypatch.chdir(tmp_path)
    configuration(tmp_path, cluster)
    (block,) = re.findall(r"^```\n(ktsafe config .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        _, *words = shlex.split(line, comments=True)
        assert run_command(words) == Exit.OK, (words, capsys.readouterr().err)
    said = capsys.readouterr()
    assert said.out.count("kt-safe") >= 2
    assert "0 dead letters" in said.err


def test_what_cannot_be_applied_is_read_from_its_topic(
    tmp_path: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters come with place, reason and content, in any partition; others' records do not."""
    config = configuration(tmp_path, cluster)
    assert run_command(["config", str(config), "--topics", "--create"]) == Exit.OK
    cluster.write(f"{tmp_path.name}-events", 0, [b'{"type": "vertex.explode"}', b'{"type": 7}'])
    assert run_command(["run", str(config), "--drain"]) == Exit.OK
    topic = f"{tmp_path.name}-events.dlq"
    cluster.write(topic, 0, [b"not a letter of ours"])
    cluster.write(topic, 0, [b"half of one"], headers=[(f"{PREFIX}topic", b"events")])
    capsys.readouterr()
    assert run_command(["status", "--dead-letters", str(config)]) == Exit.OK
    lines = sorted(capsys.readouterr().out.splitlines())
    assert len(lines) == 2
    assert any("unknown_event_type" in line and "vertex.explode" in line for line in lines)
    assert run_command(["status", "--dead-letters", str(config), "--json"]) == Exit.OK
    letters = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {letter["__connect.errors.topic"] for letter in letters} == {f"{tmp_path.name}-events"}
