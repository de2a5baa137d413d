"""Shell completion: the scripts call the program, and the program answers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import running, services


def script(shell):
    """Return what the program prints for a shell; it changes no file."""
    return subprocess.check_output(
        [sys.executable, "-m", "ktsafe.stream.cli"],
        env=os.environ | {"_KTSAFE_COMPLETE": f"source_{shell}"},
        text=True,
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_commands_and_options(tmp_path):
    """With the script loaded, bash finds what the program has."""
    program = tmp_path / "ktsafe"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ktsafe.stream.cli "$@"\n')
    program.chmod(0o755)
    asked = "COMP_WORDS=({words}); COMP_CWORD={place}; _ktsafe_completion ktsafe\n"
    asked += 'echo "${{COMPREPLY[@]}}"\n'
    lines = script("bash") + asked.format(words="ktsafe sta", place=1)
    lines += asked.format(words="ktsafe state b", place=2)
    lines += asked.format(words="ktsafe run --dr", place=2)
    done = subprocess.run(
        ["bash", "--norc", "-c", lines],
        env=os.environ
        | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [sorted(line.split()) for line in done.stdout.splitlines()] == [
        ["state", "status"],
        ["backup"],
        ["--drain"],
    ]


def test_what_a_run_did_is_json(tmp_path, capsys):
    """`demo --feed-to --json` and `run --json` say in numbers what they say in words."""
    feed = tmp_path / "feed.jsonl"
    command = ["demo", "--people", "40", "--days", "70", "--feed-to", str(feed), "--json"]
    assert run_command(command) == Exit.OK
    events = json.loads(capsys.readouterr().out)["events"]
    assert events == len(feed.read_text().splitlines())
    site = running.site(
        tmp_path / "site",
        attributes=services.ATTRIBUTES,
        source='kind = "files"\npaths = ["../feed.jsonl"]',
        sink='kind = "files"\nfolder = "releases"',
        every="month",
    )
    capsys.readouterr()
    assert run_command(["run", str(site.config), "--drain", "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["applied"] == events
    assert found["dead_letters"] == {}
    assert len(found["published"]) == len(list((site.folder / "releases").glob("0*")))
