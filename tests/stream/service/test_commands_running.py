"""Commands to a service that runs as a process of its own, and to none."""

import json
import shutil
import signal
import stat
import time
from contextlib import contextmanager

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import running, services


@contextmanager
def service(site):
    """Run the service as a process until the test is done; it must stop cleanly."""
    process = site.start()
    try:
        site.wait_until((site.folder / "state" / "control.sock").exists, process)
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == Exit.OK
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def site(tmp_path):
    """Return a service that goes on after the end of its feed, with a release a month."""
    feed = services.small_feed(people=60, days=100)
    return running.files_site(tmp_path / "site", [feed], services.ATTRIBUTES, "month")


def said(capsys, *arguments):
    """Run a command that must succeed; return the JSON that it prints."""
    assert run_command([*map(str, arguments), "--json"]) == Exit.OK, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def wait_for(condition):
    """Wait until something holds."""
    deadline = time.monotonic() + 280
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_running_service_takes_commands(site, tmp_path, capsys):
    """Status, release, backup, check, erase, rebase: beside the running service, then alone.

    What was released is safe, what was erased is gone, and the backup restores what it was made of.
    """
    config = site.config
    person = services.small_feed(people=60, days=100)[0]["id"]
    assert run_command(["status", str(config), "--json"]) == Exit.UNAVAILABLE
    assert json.loads(capsys.readouterr().out)["state"] == "never run"
    assert run_command(["release", str(config)]) == Exit.UNAVAILABLE
    assert "no service is running" in capsys.readouterr().err
    with service(site):
        socket_mode = (site.folder / "state" / "control.sock").stat().st_mode
        assert stat.S_IMODE(socket_mode) == 0o600
        wait_for(lambda: len(said(capsys, "status", config)["releases"]) == 3)
        assert run_command(["status", str(config)]) == Exit.OK
        assert "service   ready" in capsys.readouterr().out
        slot = said(capsys, "release", config)["slot"]
        wait_for(lambda: len(said(capsys, "status", config)["releases"]) == 4)
        assert slot.replace("-", "").replace(":", "") in said(capsys, "status", config)["releases"][
            0
        ]["release_id"].replace("-", "")
        assert run_command(["release", str(config)]) == Exit.USAGE
        capsys.readouterr()
        assert said(capsys, "config", config, "--state")["sound"]
        backup = said(capsys, "state", "backup", config, tmp_path / "backup")
        assert backup["last_release"] == max(p.name for p in (site.folder / "releases").glob("0*"))
        report = said(capsys, "erase", person, config, "--yes")
        assert report["erased"] == 1
        assert run_command(["run", str(config)]) == Exit.STATE
        capsys.readouterr()
        sequence = said(capsys, "rebase", config, "--yes")["sequence_id"]
    assert not (site.folder / "state" / "control.sock").exists()
    assert not list((site.folder / "state" / "store").glob("frozen/*"))
    graph = site.graph()
    assert person not in graph[0]
    running.verify_releases([site.folder / "releases"])
    at_rest = said_at_rest(capsys, config)
    assert at_rest["sequence_id"] == sequence
    assert len(at_rest["releases"]) == 4
    check = said(capsys, "config", config, "--backup", tmp_path / "backup")
    assert check["vertices"] == len(graph[0]) + 1
    shutil.rmtree(site.folder / "state")
    said(capsys, "state", "restore", config, tmp_path / "backup")
    assert person in site.graph()[0]
    assert said(capsys, "config", config, "--state")["releases"] == 4


def said_at_rest(capsys, config):
    """Return the status of a service that does not run."""
    assert run_command(["status", str(config), "--json"]) == Exit.UNAVAILABLE
    return json.loads(capsys.readouterr().out)
