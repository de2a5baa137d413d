"""`--help`: what is written for a command is what its readers see."""

import inspect

import pytest
from typer.main import get_command

from ktsafe.stream import cli
from ktsafe.stream.errors import Exit


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(get_command(cli.app)))


def words(text):
    return " ".join(text.split())


def help_of(capsys, path):
    assert cli.run_command([*path, "--help"]) == Exit.OK
    return words(capsys.readouterr().out)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_every_word(capsys, monkeypatch, path):
    """Names of tables in brackets are no markup, and paragraphs are wrapped to the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    command = COMMANDS[path]
    shown = help_of(capsys, path)
    assert words(inspect.getdoc(command.callback)) in shown
    for parameter in command.params:
        # A long word may be broken at its hyphens.
        assert words(parameter.help).replace(" ", "") in shown.replace(" ", "")


def test_lists_show_whole_sentences(capsys):
    """The list of commands cuts none of their first sentences off."""
    shown = help_of(capsys, ())
    for path, command in COMMANDS.items():
        if len(path) == 1:
            first = inspect.getdoc(command.callback).partition("\n\n")[0]
            assert words(first) in shown
