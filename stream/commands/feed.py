"""`ktsafe feed`: synthetic social feeds to try the service with."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import typer

from stream.errors import ConfigError, Exit

app = typer.Typer(help="Synthetic social feeds.", no_args_is_help=True)


@app.callback()
def feed() -> None:
    """Group the feed commands."""


@app.command("generate")
def generate(
    out: Annotated[
        str, typer.Option(help="File to write (.jsonl, .jsonl.gz), or - for standard output.")
    ] = "-",
    people: Annotated[int, typer.Option(min=1, help="People who join in all.")] = 1_000,
    days: Annotated[int, typer.Option(min=1, help="Simulated days.")] = 365,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same feed.")] = 1,
    schema_out: Annotated[
        Path | None, typer.Option(help="Also write the feed's schema file here.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON; needs --out FILE.")
    ] = False,
) -> int:
    """Generate a feed: people join, change and leave; ties come and go."""
    if as_json and out == "-":
        msg = "--json and the feed cannot both go to standard output."
        raise ConfigError(msg, hint="Name a file with --out.")
    import numpy as np

    from ktsafe.datasets import social_feed

    rng = np.random.default_rng(seed)
    count = write_feed(out, social_feed(people=people, days=days, rng=rng))
    if schema_out is not None:
        write_schema(schema_out)
    if as_json:
        typer.echo(json.dumps({"out": out, "events": count, "people": people, "days": days}))
    elif out != "-":
        typer.echo(f"{out}: {count:,} events of {people:,} people over {days:,} days", err=True)
    return Exit.OK


def write_feed(out: str, events: Iterable[dict[str, Any]]) -> int:
    """Write a feed and return its number of events."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with _output(out) as file:
        for event in events:
            file.write(encode(event) + b"\n")
            count += 1
    return count


def write_schema(path: Path) -> None:
    """Write the schema file of the generated feeds."""
    from ktsafe.datasets import SOCIAL_FEED_SCHEMA

    schema = SOCIAL_FEED_SCHEMA
    path.write_text(
        "[attributes]\n"
        f"quasi_identifiers = {json.dumps(list(schema.quasi_identifiers))}\n"
        f"sensitive = {json.dumps(schema.sensitive)}\n"
        f"sensitive_values = {json.dumps(sorted(schema.sensitive_values))}\n",
        encoding="utf-8",
    )


@contextmanager
def _output(out: str) -> Iterator[IO[bytes]]:
    if out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif out.endswith(".gz"):
        # A fixed time stamp keeps the bytes a function of the seed.
        with open(out, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:  # noqa: PTH123
            yield file  # type: ignore[misc]
    else:
        with open(out, "wb") as file:  # noqa: PTH123
            yield file
