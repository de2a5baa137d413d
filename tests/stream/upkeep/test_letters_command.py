"""`ktsafe letters read` before there are any."""

from stream.cli import run_command
from stream.errors import Exit
from tests import services
from tests.trials import running


def test_no_letters_are_no_fault(tmp_path, capsys):
    """The file is made by the first letter; until then its place is told, and nothing printed."""
    site = running.files_site(tmp_path / "site", [[]], services.ATTRIBUTES, "month")
    assert run_command(["letters", "read", str(site.config)]) == Exit.OK
    captured = capsys.readouterr()
    assert not captured.out
    assert "no dead letters so far" in captured.err
