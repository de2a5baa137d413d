"""`ktsafe topics`: create or check the Kafka topics that a configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Create or check Kafka topics.", no_args_is_help=True)

_Config = Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
