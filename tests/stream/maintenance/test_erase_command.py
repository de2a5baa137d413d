"""`ktsafe erase` where there is nothing to erase from."""

import io

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.config.places import IMPORTING
from ktsafe.stream.errors import Exit
from tests import running, services


@pytest.fixture
def site(tmp_path):
    """Return a service that has never run."""
    return running.files_site(tmp_path / "site", [[]], services.ATTRIBUTES, "month")


def test_erasing_without_a_state_is_refused(site, capsys):
    """Of a wrong configuration nobody is told that the person is gone, and nothing is made."""
    assert run_command(["erase", "ann", str(site.config), "--yes"]) == Exit.STATE
    captured = capsys.readouterr()
    assert "there is no state" in captured.err
    assert "ann" not in captured.err
    assert "erased" not in captured.out
    assert not (site.folder / "state").exists()


def test_an_unfinished_import_is_named(site, capsys):
    """It is not taken for no state at all."""
    (site.folder / "state" / IMPORTING).mkdir(parents=True)
    assert run_command(["erase", "ann", str(site.config), "--yes"]) == Exit.STATE
    assert "an import is under way" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["erase", "ann"], ["rebase"]])
@pytest.mark.parametrize("answer", ["", "no"])
def test_without_a_terminal_nothing_is_done_unasked(site, monkeypatch, capsys, command, answer):
    """The error names the option that answers."""
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert run_command([*command, str(site.config)]) == Exit.INTERRUPTED
    told = capsys.readouterr().err
    assert "--yes" in told
    assert "nothing was done" in told
    assert not (site.folder / "state").exists()
