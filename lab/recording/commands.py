"""Runs `ktsafe` commands in this process.

The program is imported before numpy, as it says how many threads numpy gets.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ktsafe.errors import KtsafeError
from ktsafe.stream.command_registry import app
from ktsafe.stream.errors import exit_code

Figures = dict[str, Any]


class Answer(NamedTuple):
    """What a command found, as JSON; or the class of error that ended it, and its text."""

    code: int
    found: Any = None
    error: str = ""
    text: str = ""


def ktsafe(*words: object) -> Answer:
    """Run a command that prints JSON."""
    out, arguments = io.StringIO(), [str(word) for word in (*words, "--json")]
    try:
        with contextlib.redirect_stdout(out):
            code = app(args=arguments, standalone_mode=False)
    except KtsafeError as error:
        return Answer(int(exit_code(error)), None, type(error).__name__, error.message)
    return Answer(int(code), json.loads(out.getvalue()))


def made(*words: object) -> Any:
    """Run a command that must succeed; return what it found."""
    answer = ktsafe(*words)
    assert answer.code == 0, answer
    return answer.found


def under(prefix: str, figures: Mapping[str, Any]) -> Figures:
    """Return figures with a part before their names."""
    return {f"{prefix}/{name}": figure for name, figure in figures.items()}
