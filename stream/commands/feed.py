"""`ktsafe feed`: a made-up feed, and a way onto a topic."""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Final

import msgspec
import typer

from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Json, hurried, say

app = typer.Typer(help="Make up a feed, or send one to Kafka.", no_args_is_help=True)


@app.callback()
def feed() -> None:
    """Group the feed commands."""


@app.command("generate")
def generate(
    out: Annotated[
        str, typer.Option(help="File to write (.jsonl, .jsonl.gz), or - for standard output.")
    ] = "-",
    people: Annotated[int, typer.Option(min=1, help="Newcomers in all.")] = 1_000,
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

    from ktsafe.graph.datasets import social_feed

    rng = np.random.default_rng(seed)
    count = write_feed(out, social_feed(people=people, days=days, rng=rng))
    if schema_out is not None:
        write_schema(schema_out)
    if as_json:
        typer.echo(json.dumps({"out": out, "events": count, "people": people, "days": days}))
    elif out != "-":
        typer.echo(f"{out}: {count:,} events of {people:,} people over {days:,} days", err=True)
    return Exit.OK


@app.command("send")
def send(
    file: Annotated[
        Path, typer.Argument(help="Events, one JSON object per line (.jsonl, .jsonl.gz).")
    ],
    to: Annotated[
        Path, typer.Option(help="The service's TOML file; events go to the topic of its [source].")
    ],
    per_second: Annotated[
        float | None, typer.Option(min=0.1, help="Events a second, at most. Default: no limit.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Put a file's events on the service's topic, partitions in turn.

    The file is read once before anything is sent: a line that is no JSON object is refused.
    """
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.monitoring.progress import phases

    config = configuration.load(to).config
    topic = config.source.kafka_topic
    if topic is None or config.kafka is None:
        msg = f"{to}: the events do not come from Kafka."
        raise ConfigError(msg, hint='Give [source] kind = "kafka", and a [kafka] table.')
    from ktsafe.connectors.kafka_topics import send_values

    count = sum(1 for _ in _events(file))
    kafka = hurried(config.kafka)
    with phases(f"sending to {topic}") as progress:
        for sent in send_values(kafka, topic, _paced(_events(file), per_second)):
            progress("events", sent / count)
    say({"topic": topic, "events": count}, f"{topic}: {count:,} events sent", as_json=as_json)
    return Exit.OK


def _events(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, each of them a JSON object."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        decode(line)
                    except (msgspec.MsgspecError, UnicodeDecodeError):
                        msg = f"{path}, line {number} is no JSON object. Nothing was sent."
                        raise ConfigError(msg, hint=_FEED) from None
                    yield line.strip()
    except (EOFError, zlib.error, gzip.BadGzipFile):
        msg = f"{path} is no complete gzip file. Nothing was sent."
        raise ConfigError(msg, hint=_FEED) from None


_FEED: Final = "A feed has one event per line; `ktsafe feed generate` writes one."


def _paced(values: Iterable[bytes], per_second: float | None) -> Iterator[bytes]:
    begun = time.monotonic()
    for count, value in enumerate(values):
        if per_second is not None:
            time.sleep(max(0.0, begun + count / per_second - time.monotonic()))
        yield value


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
    from ktsafe.graph.datasets import SOCIAL_FEED_SCHEMA

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
