"""`ktsafe completion`: scripts with which a shell completes commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from stream.errors import Exit


class Shell(StrEnum):
    """Shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")],
) -> int:
    """Print the script with which a shell completes `ktsafe`; it changes no file.

    For one session: `source <(ktsafe completion bash)`. For all: put the output where the shell
    looks for completions.
    """
    typer.echo(
        get_completion_script(
            prog_name="ktsafe", complete_var="_KTSAFE_COMPLETE", shell=shell.value
        )
    )
    return Exit.OK
