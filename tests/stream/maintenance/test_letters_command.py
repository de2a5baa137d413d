"""`ktsafe status --dead-letters`: before there are any, and with words that others chose."""

from ktsafe.connectors.letters import PREFIX
from ktsafe.stream.cli import run_command
from ktsafe.stream.commands.running import letter_text
from ktsafe.stream.errors import Exit
from tests import running, services


def test_no_letters_are_no_fault(tmp_path, capsys):
    """The file is made by the first letter; until then its place is told, and nothing printed."""
    site = running.files_site(tmp_path / "site", [[]], services.ATTRIBUTES, "month")
    assert run_command(["status", "--dead-letters", str(site.config)]) == Exit.OK
    captured = capsys.readouterr()
    assert not captured.out
    assert "no dead letters so far" in captured.err


def test_letters_do_not_speak_to_a_terminal() -> None:
    """Whoever may write to the topic cannot move a cursor with what a letter says."""
    fields = ("topic", "partition", "offset", "exception.class.name", "exception.message")
    letter = {f"{PREFIX}{name}": "\x1b[2J\r\n" for name in fields}
    assert letter_text({**letter, "value": None}).isprintable()
