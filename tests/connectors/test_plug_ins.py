"""A connector of another distribution: installed, found, tested by the contract, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe.stream.errors import Exit
from tests.configurations import KEPT_IN_FILES
from tests.services import ATTRIBUTES, small_feed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "ops" / "examples" / "sqlite_sink"

CONTRACT = """
import pytest
from ktsafe.stream.config.connector_kinds import Site
from ktsafe_lab.contracts import ReleaseContract
from ktsafe_sqlite_sink import SqliteSinkTable

class World:
    def __init__(self, folder):
        self.table, self.site = SqliteSinkTable(path="releases.db"), Site(folder)

    def sink(self):
        return self.table.release_sink(self.site)

    def reader(self):
        return self.table.release_reader(self.site)

class TestSqlite(ReleaseContract):
    @pytest.fixture
    def world(self, tmp_path):
        return World(tmp_path)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the example elsewhere; give an environment that finds it."""
    to, source = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source")
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True)  # A build leaves things beside it.
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(to), str(source)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(to)}


def configured(folder: Path) -> Path:
    """Write a small feed, and the configuration of a service that publishes to the example."""
    lines = "".join(f"{json.dumps(event)}\n" for event in small_feed())
    (folder / "feed.jsonl").write_text(lines)
    attributes = "".join(f"{name} = {json.dumps(value)}\n" for name, value in ATTRIBUTES.items())
    text = KEPT_IN_FILES.replace('kind = "files"\nfolder', 'kind = "sqlite"\npath').replace(
        '"releases"', '"releases.db"'
    )
    source = '[source]\nkind = "files"\npaths = ["feed.jsonl"]\n'
    more = 'effort = "fast"\n[privacy]\nk = 4\n[metrics]\nlisten = "127.0.0.1:0"\n'
    config = folder / "ktsafe.toml"
    config.write_text(f"{source}[attributes]\n{attributes}{text.replace('1d', '30d')}{more}")
    return config


def test_the_contract_is_passed_from_outside(installed: dict[str, str], tmp_path: Path) -> None:
    """The tests that are shipped run against it, without this repository's tests."""
    (tmp_path / "test_sqlite.py").write_text(CONTRACT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sqlite.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def ktsafe(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command where the example is installed."""
    command = [sys.executable, "-m", "ktsafe.stream.cli", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_service_publishes_to_it(installed: dict[str, str], tmp_path: Path) -> None:
    """Releases go to the sink of a kind that the program never heard of, and come back verified."""
    config = configured(tmp_path)
    done = ktsafe(installed, "run", config, "--drain")
    assert done.returncode == Exit.OK, done.stderr
    into = tmp_path / "read"
    done = ktsafe(installed, "releases", "read", config, "--into", into, "--json")
    assert done.returncode == Exit.OK, done.stderr
    folders = sorted(path for path in into.iterdir() if path.is_dir())
    assert folders
    assert ktsafe(installed, "verify", *folders).returncode == Exit.OK


def test_a_kind_that_nobody_installed_is_refused(tmp_path: Path) -> None:
    """The error names the key; nothing is started."""
    config = configured(tmp_path)
    done = ktsafe({**os.environ}, "run", config, "--drain")
    assert done.returncode == Exit.USAGE
    assert "sink.kind cannot be 'sqlite'" in done.stderr
