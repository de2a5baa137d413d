"""The service as its users run it: a process, files, signals, exit codes."""

import contextlib
import importlib.metadata
import signal
import stat
import subprocess
import sys

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.service import assembly
from tests import running, services
from tests.stream.workers.cluster import local_cluster

NO_FILES = ["--vertices=x", "--edges=x", "--schema=x"]


def site_of(tmp_path, partitions, attributes=services.ATTRIBUTES):
    return running.files_site(tmp_path / "site", partitions, attributes, "month")


def ktsafe(*arguments):
    command = [sys.executable, "-m", "ktsafe.stream.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sequence_of(folder, kills, workers):
    """Return the bytes of a sequence's releases, by a service that is killed so often."""
    folder.mkdir(exist_ok=True)
    feed = [services.small_feed()]
    site = running.files_site(folder / "site", feed, services.ATTRIBUTES, "month")
    text = site.config.read_text().replace("[release]", "[release]\nseed = 7")
    site.config.write_text(f"{text}\n[workers]\n{workers}\n")
    services.drain_with_kills(site, kills, 3, folder, within_s=6.0)
    site.releases(folder / "read")
    running.verify_releases([folder / "read"])
    assert list((site.folder / "state").glob("tasks/*.arrays")) == []
    files = [*(folder / "read").glob("*/vertices.csv"), *(folder / "read").glob("*/edges.csv")]
    return {str(f.relative_to(folder)): f.read_bytes() for f in files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return what a service with one thread publishes that runs through."""
    found = sequence_of(tmp_path_factory.mktemp("undisturbed"), 0, "threads = 1")
    assert len(found) >= 6
    return found


def test_kill_9_changes_no_byte_of_a_sequence_on_a_cluster(undisturbed, tmp_path):
    """A service that is killed while a cluster works for it publishes what threads would have."""
    with local_cluster() as address:
        assert sequence_of(tmp_path, 2, f'dask = "{address}"') == undisturbed


def test_signals_stop_the_service_and_nothing_is_lost(tmp_path):
    """The first SIGTERM ends it with 0; the next start continues; private files are private."""
    partitions = [services.small_feed(people=40)]
    site = site_of(tmp_path, partitions)
    process = site.start()
    site.wait_until(site.has_audits, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.OK
    site.drain()
    services.check(site, partitions, tmp_path / "read")
    assert stat.S_IMODE((site.folder / "state").stat().st_mode) == 0o700


def test_a_thread_that_is_still_at_work_does_not_change_how_it_ends():
    """Who stops does not wait for a release in the making, and still ends with its own code.

    An interpreter that is torn down under a thread may abort, as the exit handler here does.
    """
    code = """
import atexit, os, threading
from ktsafe.stream import cli

atexit.register(os.abort)
threading.Thread(target=threading.Event().wait, daemon=True).start()
cli.main()
"""
    for arguments, ends in ((["config"], Exit.OK), (["verify", "nowhere"], Exit.USAGE)):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == ends, done.stderr
        assert ("[source]" in done.stdout) == (ends == Exit.OK)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (("every", "evry"), Exit.USAGE, "evry"),
        (('folder = "state"', 'folder = "/proc/ktsafe"'), Exit.STATE, "/proc/ktsafe"),
        (('folder = "releases"', 'folder = "/proc/ktsafe"'), Exit.USAGE, "/proc/ktsafe"),
        (("feed-0", "feed-9"), Exit.USAGE, "feed-9"),
    ],
)
def test_what_cannot_start_says_why_in_one_paragraph(tmp_path, capsys, change, code, words):
    """A bad configuration, an unwritable folder, a missing feed: one paragraph, its own code."""
    site = site_of(tmp_path, [services.small_feed(people=5)])
    site.config.write_text(site.config.read_text().replace(*change))
    assert run_command(["run", str(site.config), "--drain"]) == code
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("ktsafe: ")
    assert words in message


def test_a_drain_that_withheld_every_release_says_so_by_its_code(tmp_path, capsys):
    """A batch job has nobody who reads alerts."""
    nobody = services.ATTRIBUTES | {"sensitive_values": ["plague"], "expect_absent": []}
    site = site_of(tmp_path, [services.small_feed(people=5)], nobody)
    assert run_command(["run", str(site.config), "--drain"]) == Exit.UNSAFE
    said = capsys.readouterr().err
    assert "published nothing" in said
    assert "withheld" in said


def test_a_state_of_other_parameters_is_refused_until_rebase(tmp_path, capsys):
    """Parameters are fixed within a sequence; `ktsafe rebase` begins a new one."""
    site = site_of(tmp_path, [services.small_feed(people=30)])
    assert run_command(["run", str(site.config), "--drain"]) == Exit.OK
    text = site.config.read_text()
    site.config.write_text(text.replace("[privacy]\n", "[privacy]\nk = 4\n"))
    assert run_command(["run", str(site.config), "--drain"]) == Exit.STATE
    assert "ktsafe rebase" in capsys.readouterr().err
    assert run_command(["rebase", str(site.config), "--yes"]) == Exit.OK
    assert run_command(["run", str(site.config), "--drain"]) == Exit.OK


def test_a_backup_of_nothing_or_into_itself_is_refused(tmp_path, capsys):
    """A wrong configuration makes no empty backup, and no state folder either."""
    site = site_of(tmp_path, [services.small_feed(people=5)])
    state = site.folder / "state"
    assert run_command(["state", "backup", str(site.config), str(tmp_path / "b")]) == Exit.STATE
    assert "no state yet" in capsys.readouterr().err
    assert not state.exists()
    assembly.open_store(site.settings).close()
    assert run_command(["state", "backup", str(site.config), str(state / "b")]) == Exit.STATE
    assert "lies in" in capsys.readouterr().err


def test_a_second_service_on_one_state_is_refused(tmp_path, capsys):
    """The store's lock is held; the error says so."""
    site = site_of(tmp_path, [services.small_feed(people=5)])
    store = assembly.open_store(site.settings)
    try:
        assert run_command(["run", str(site.config), "--drain"]) == Exit.STATE
    finally:
        store.close()
    assert "another process" in capsys.readouterr().err.lower()


def test_an_unexpected_error_shows_its_place_and_not_its_text(tmp_path):
    """Exit 3 and one log line; the text of the error, which may hold an id, stays inside."""
    code = (
        "import sys; from stream import cli; from ktsafe.stream.config import settings\n"
        "def broken(*a, **k): raise RuntimeError('secret-person')\n"
        "settings.load = broken; sys.argv[1:] = ['config', 'x']; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL
    assert "RuntimeError" in done.stderr
    assert "secret" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--feed-to", "/proc/ktsafe.jsonl"], "/proc/ktsafe.jsonl cannot be used"),
        (["demo", "--seed", "-1"], "--seed"),
        (["anonymize", *NO_FILES, "--out=o", "--audit=o/audit"], "o/audit lies in o"),
        (["anonymize", *NO_FILES, "--out=o", "--audit=o"], "o lies in o"),
        (["anonymize", *NO_FILES, "--out=o", "--audit=a"], "x cannot be read"),
        (["anonymize", "--effort", "lazy"], "balanced"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path, monkeypatch, capsys, arguments, words):
    """Arguments that cannot work end with code 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert run_command(arguments) == Exit.USAGE
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("ktsafe: ")
    assert words in message
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_in_one_line(monkeypatch, capsys):
    """Output that finds no room ends the command, without a crash report."""
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr("sys.stdout", full)
        assert run_command(["config"]) == Exit.USAGE
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert capsys.readouterr().err == (
        "ktsafe: the output cannot be used (No space left on device).\n"
    )


def test_an_interrupt_is_said_and_has_its_code(monkeypatch, capsys):
    """Ctrl-C while a command works ends it with 130 and a word."""

    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("ktsafe.stream.config.settings.load", interrupted)
    assert run_command(["config", "x"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err.strip() == "ktsafe: interrupted"


def test_a_group_without_a_command_prints_its_help_alone(capsys):
    """Help on standard output, no empty complaint on standard error."""
    assert run_command(["state"]) == Exit.USAGE
    found = capsys.readouterr()
    assert "Usage" in found.out
    assert not found.err


def test_the_version_is_told(capsys):
    """`ktsafe --version` names the installed version and does nothing else."""
    assert run_command(["--version"]) == Exit.OK
    assert capsys.readouterr().out == f"ktsafe {importlib.metadata.version('ktsafe')}\n"
