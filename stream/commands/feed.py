"""`ktsafe feed`: a made-up feed, and a way onto a topic."""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any, Final

import msgspec
import typer

from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Json, hurried, say


def feed(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Events to send, one JSON object per line (.jsonl, .jsonl.gz). Default: made up."
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(help="Write made-up events here (.jsonl, .jsonl.gz); - is the output.")
    ] = "-",
    to: Annotated[
        Path | None,
        typer.Option(help="The service's TOML file: send the events to the topic of its [source]."),
    ] = None,
    people: Annotated[int, typer.Option(min=1, help="Newcomers in all.")] = 1_000,
    days: Annotated[int, typer.Option(min=1, help="Simulated days.")] = 365,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same feed.")] = 1,
    schema_out: Annotated[
        Path | None, typer.Option(help="Also write the schema file of made-up events here.")
    ] = None,
    per_second: Annotated[
        float | None, typer.Option(min=0.1, help="Events a second, at most. Default: no limit.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Make up a feed of events, or send one to the service.

    In a made-up feed people join, change and leave; ties come and go. A file is read once before
    anything is sent: a line that is no JSON object is refused.
    """
    if to is None and file is not None:
        raise ConfigError("Where to send the events is not said.", hint="Give --to CONFIG.")
    if to is not None and out != "-":
        raise ConfigError("--out and --to do not go together.", hint="Send the written file then.")
    if as_json and to is None and out == "-":
        msg = "--json and the feed cannot both go to standard output."
        raise ConfigError(msg, hint="Name a file with --out.")
    if schema_out is not None:
        write_schema(schema_out)
    if to is not None:
        _send(to, file, partial(_made_up, people, days, seed), per_second, as_json=as_json)
        return Exit.OK
    count = write_feed(out, _made_up(people, days, seed))
    if as_json:
        typer.echo(json.dumps({"out": out, "events": count, "people": people, "days": days}))
    elif out != "-":
        typer.echo(f"{out}: {count:,} events of {people:,} people over {days:,} days", err=True)
    return Exit.OK


def _made_up(people: int, days: int, seed: int) -> Iterator[dict[str, Any]]:
    """Return made-up events."""
    import numpy as np

    from ktsafe.graph.datasets import social_feed

    return iter(social_feed(people=people, days=days, rng=np.random.default_rng(seed)))


def _send(
    to: Path,
    file: Path | None,
    made_up: Callable[[], Iterable[dict[str, Any]]],
    per_second: float | None,
    *,
    as_json: bool,
) -> None:
    """Put events on the service's topic, partitions in turn."""
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.monitoring.progress import phases

    config = configuration.load(to).config
    topic = config.source.kafka_topic
    if topic is None or config.kafka is None:
        msg = f"{to}: the events do not come from Kafka."
        raise ConfigError(msg, hint='Give [source] kind = "kafka", and a [kafka] table.')
    from ktsafe.connectors.kafka_topics import send_values

    def values() -> Iterator[bytes]:
        return map(msgspec.json.encode, made_up()) if file is None else _events(file)

    count = sum(1 for _ in values())
    kafka = hurried(config.kafka)
    with phases(f"sending to {topic}") as progress:
        for sent in send_values(kafka, topic, _paced(values(), per_second)):
            progress("events", sent / count)
    say({"topic": topic, "events": count}, f"{topic}: {count:,} events sent", as_json=as_json)


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


_FEED: Final = "A feed has one event per line; `ktsafe feed --out FILE` writes one."


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
