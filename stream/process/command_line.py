"""Options, questions, answers and progress that all commands share.

Help texts may be reworded, for all commands at once (`make reference`). An option here has one
meaning in every command; answers are printed by `say`, as text or as JSON. How progress looks may
be changed freely, on standard error only.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.errors import InvalidParams

Config = Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonAtEnd = Annotated[bool, typer.Option("--json", help="Print what happened as JSON at the end.")]
Wait = Annotated[float, typer.Option(min=1, help="Seconds to wait for a running service.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

Vertices = Annotated[
    Path, typer.Option(help="Table with id and attributes (.csv, .tsv, .parquet; gzipped or not).")
]
Edges = Annotated[
    Path, typer.Option(help="Table with source and target (.csv, .tsv, .parquet; gzipped or not).")
]
Columns = Annotated[
    str,
    typer.Option(
        help="Columns of ids and ends of ties that have other names: "
        "source=A,target=B,id=C; numbers of columns where there is no header."
    ),
]
SchemaFile = Annotated[Path, typer.Option(help="TOML with the [attributes] table.")]
Keep = Annotated[
    str,
    typer.Option(help="Quasi-identifiers to keep, with two values at least: gender,age."),
]
Hierarchies = Annotated[
    Path | None,
    typer.Option(help="TOML with [hierarchies], the allowed groups. Default: the schema file."),
]
VerticesIfAny = Annotated[
    Path | None,
    typer.Option(
        "--vertices",
        help="Table with id and attributes (.csv, .tsv, .parquet; gzipped or not). "
        "Default: the people that the edges name.",
    ),
]
EdgesOfAnyKind = Annotated[
    Path,
    typer.Option(
        "--edges",
        help="Table with source and target, or an edge list, also with # or % (.csv, .tsv, .txt, "
        ".parquet; gzipped or not).",
    ),
]
SchemaIfAny = Annotated[
    Path | None,
    typer.Option("--schema", help="TOML with the [attributes] table. Default: no attributes."),
]
FiguresSeed = Annotated[int, typer.Option(min=0, help="Same seed, same figures.")]

Releases = Annotated[
    list[Path],
    typer.Argument(
        help="Release folders in order of publication, or folders of them.", metavar="RELEASES..."
    ),
]
Mappings = Annotated[
    Path | None,
    typer.Option("--map", help="Private audit folder, with a mapping.csv per release."),
]
Truth = Annotated[
    Path | None,
    typer.Option(
        help="The feed; or a folder with the imported vertices.csv and edges.csv, and the feed; or "
        "one with the true vertices.csv and edges.csv per release."
    ),
]
TruthSchema = Annotated[
    Path | None, typer.Option(help="TOML with the [attributes] table, if the truth has buckets.")
]


Report = dict[str, Any]
"""What a command prints as JSON; each command has keys of its own."""


def hurried(kafka: KafkaSettings, wait_s: float = 10.0) -> KafkaSettings:
    """Return a cluster's settings with little patience, and say so."""
    typer.echo(f"asking {kafka.address}, for at most {wait_s:g} s", err=True)
    request_timeout_s = min(kafka.request_timeout_s, wait_s / 2)
    return msgspec.structs.replace(kafka, request_timeout_s=request_timeout_s)


def say(found: object, text: str, *, as_json: bool) -> None:
    """Print what a command found: as JSON, or in words."""
    typer.echo(json.dumps(msgspec.to_builtins(found), indent=2) if as_json else text)


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
            typer.echo("\nWithout a terminal give --yes.", err=True)
        raise


def listed(text: str, option: str) -> list[str]:
    """Return the values of a list with commas, each once."""
    values = list(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
    if not values:
        msg = f"{option} names nothing."
        raise InvalidParams(msg, hint="Give values with commas between them.")
    return values


def words_of(text: str) -> list[str]:
    """Return the distinct words of a list with commas, perhaps none."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def numbers(text: str, option: str) -> list[int]:
    """Return the numbers of a list with commas, each once."""
    try:
        return [int(value) for value in listed(text, option)]
    except ValueError as error:
        raise InvalidParams(f"{option} must be whole numbers with commas between them.") from error


# Progress: a bar on terminals, else lines.

Progress = Callable[[str, float], None]
"""Told the phase, and the fraction of the work that is done."""

SILENT_S: Final = 2.0
"""What takes less needs no line."""
LINES_S: Final = 10.0
"""Seconds between lines where there is no terminal."""


@contextmanager
def phases(title: str) -> Iterator[Progress]:
    """Give a `progress(phase, fraction_done)` callback: a bar on a terminal, else lines.

    Both say how long the rest may take. Lines go to standard error, the first after two seconds,
    and then every ten.
    """
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.console import Console  # noqa: PLC0415 -- for terminals only, and slow to load
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        def progress(phase: str, done: float) -> None:
            bar.update(task, description=f"{title}: {phase}", completed=done)

        yield progress


def _lines(title: str) -> Progress:
    started = time.monotonic()
    due = started + SILENT_S

    def progress(phase: str, done: float) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        due = now + LINES_S
        left = f", about {(now - started) * (1 - done) / done:.0f} s left" if done else ""
        typer.echo(f"ktsafe: {title}: {phase}, {done:.0%}{left}", err=True)

    return progress
