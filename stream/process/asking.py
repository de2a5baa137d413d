"""The question before what cannot be undone."""

from __future__ import annotations

import sys

import typer


def ask_first(question: str) -> None:
    """Ask; go on only after yes.

    Raises
    ------
    typer.Abort
        After any other answer, and without a terminal, where nobody can answer.
    """
    try:
        typer.confirm(question, abort=True)
    except typer.Abort:
        if not sys.stdin.isatty():
            typer.echo("\nNobody said yes. Without a terminal give --yes.", err=True)
        raise
