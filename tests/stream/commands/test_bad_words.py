"""Mistakes end in one clear paragraph, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ktsafe.stream.errors import Exit
from tests.stream.commands import bad_words
from tests.stream.commands.bad_words import COMMANDS, FILES, OPTIONS, Mistake

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mistake", [*FILES, *OPTIONS, *COMMANDS], ids=lambda one: one.what)
def test_one_paragraph_and_nothing_written(mistake: Mistake) -> None:
    """The answer is one line, no traceback, and says what the page of mistakes says."""
    code, said, written = bad_words.answer(mistake)
    assert code == Exit.USAGE
    assert said.startswith("ktsafe: ")
    assert "\n" not in said
    assert "Traceback" not in said
    assert "None" not in said
    assert written == set()


def test_the_page_says_what_the_program_says() -> None:
    """mistakes.txt is as it is made."""
    assert Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8") == bad_words.page()


def test_errors_are_json_where_it_is_asked_for(capsys) -> None:
    """`--json` puts the same text into an object on standard output."""
    mistake = Mistake("", "verify nowhere --json")
    with bad_words.site(mistake):
        assert bad_words.run_command(mistake.command.split()) == Exit.USAGE
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["exit_code"] == Exit.USAGE
    assert said.err == f"ktsafe: {found['error']}\n"
