"""A standby: waits, takes over from the last checkpoint, publishes nothing twice, or refuses."""

import json
import os
from pathlib import Path

import pytest

from ktsafe.state.errors import StateLocked
from ktsafe.state.folder import is_held
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.service import standby
from tests import feeds, running, services


def log_of(site):
    return (site.folder / "log.txt").read_text()


def test_a_standby_takes_over_from_a_killed_service(tmp_path):
    """Kill -9 the first: the second goes on, every release is there once, the graph is the fold."""
    partitions = feeds.assigned(services.small_feed(people=60, days=100), 2, 4)
    site = running.files_site(tmp_path / "site", partitions, services.ATTRIBUTES, "month")
    text = site.config.read_text()
    text = text.replace("paths", "follow = true\npaths").replace('"warning"', '"info"')
    site.config.write_text(text)
    store = site.folder / "state" / "store"
    first = site.start()
    try:
        site.wait_until(lambda: any((site.folder / "releases").glob("0*")), first)
        assert is_held(store)
        site.config.write_text(text.replace("follow = true", "follow = false"))
        second = site.start("--standby", "--drain")
        site.wait_until(lambda: "standing by" in log_of(site), second)
        assert "took over" not in log_of(site)
        first.kill()
        first.wait()
        assert second.wait(240) == Exit.OK, log_of(site)[-2000:]
    finally:
        first.kill()
        first.wait()
    assert "took over" in log_of(site)
    assert not is_held(store)
    services.check(site, partitions, tmp_path / "read")


class Held:
    """A store that is held for some looks."""

    def __init__(self, looks, locked=0):
        self.looks, self.locked, self.slept = looks, locked, 0

    def is_held(self, _):
        self.looks -= 1
        return self.looks >= 0

    def open(self):
        self.locked -= 1
        if self.locked >= 0:
            raise StateLocked("open", "store", "held")
        return self

    def sleep(self, _):
        self.slept += 1


@pytest.mark.parametrize(("looks", "locked", "slept"), [(0, 0, 0), (3, 0, 3), (1, 2, 3)])
def test_it_waits_as_long_as_the_store_is_held(tmp_path, monkeypatch, looks, locked, slept):
    """Nothing is opened while it is held; of two standbys the slower one waits on."""
    held = Held(looks, locked)
    monkeypatch.setattr(standby, "is_held", held.is_held)
    taken = standby.take_over(tmp_path, held.open, stopping=lambda: False, sleep=held.sleep)
    assert taken is held
    assert held.slept == slept


def test_a_standby_can_be_stopped(tmp_path, monkeypatch):
    """Told to stop it opens nothing."""
    held = Held(100)
    monkeypatch.setattr(standby, "is_held", held.is_held)
    taken = standby.take_over(
        tmp_path, held.open, stopping=lambda: held.slept == 2, sleep=held.sleep
    )
    assert taken is None


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:40 / /shared rw shared:1 - nfs4 server:/export rw
24 22 0:41 / /local rw - xfs /dev/vdb rw
25 24 0:42 / /local/with\\040space rw master:1 - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/state", "ext4"),
        ("/shared/a/state", "nfs4"),
        ("/sharedness/state", "ext4"),
        ("/local/state", "xfs"),
        ("/local/with space/state", "fuse.sshfs"),
    ],
)
def test_the_file_system_of_a_folder_is_known(tmp_path, folder, kind):
    """That of the longest mount point above it."""
    (tmp_path / "mounts").write_text(MOUNTS)
    assert standby.file_system(Path(folder), tmp_path / "mounts") == kind
    assert standby.file_system(Path(folder), tmp_path / "nothing") is None


def test_it_refuses_where_nothing_keeps_two_apart(tmp_path, capsys):
    """Standard input, pipes, shared or unknown file systems: refused, and said why."""
    site = running.files_site(
        tmp_path / "site", [services.small_feed(people=5)], services.ATTRIBUTES, "month"
    )
    settings = site.settings
    private = tmp_path / "site" / "state"
    standby.check_can_stand_by(settings, private)
    mounts = tmp_path / "mounts"
    mounts.write_text("22 1 0:1 / / rw - nfs server:/ rw\n")
    with pytest.raises(ConfigError, match="on nfs"):
        standby.check_can_stand_by(settings, private, mounts=mounts)
    with pytest.raises(ConfigError, match="unknown"):
        standby.check_can_stand_by(settings, private, mounts=tmp_path / "nothing")
    text = site.config.read_text()
    site.config.write_text(text.replace('"../feed/feed-0.jsonl"', '"-"'))
    assert run_command(["run", str(site.config), "--standby"]) == Exit.USAGE
    assert "standard input" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe")
    site.config.write_text(text.replace('"../feed/feed-0.jsonl"', json.dumps("../pipe")))
    with pytest.raises(ConfigError, match="pipe"):
        standby.check_can_stand_by(site.settings, private)
