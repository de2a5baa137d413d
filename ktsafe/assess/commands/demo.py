"""`ktsafe demo`: a network's year in one folder, or a feed.

Rates may be tuned, and with them every figure of docs that came from the demo.
tests/ktsafe/assess/commands/test_demo.py runs it: its releases are those of a service, by `ktsafe
run`.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from ktsafe.stream.assessment import check_installed
from ktsafe.stream.config.places import STORE
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.report_texts import check_page, new_file, now
from ktsafe.stream.maintenance.cold_kernels import compiling_first
from ktsafe.stream.process.command_line import JsonAtEnd, hurried, phases, say

if TYPE_CHECKING:
    from ktsafe.assess.releases.worth import Worth
    from ktsafe.graph.social_network import FeedEvent, SocialNetwork
    from ktsafe.stream.config.settings import Settings

JOINING: Final = 0.08
"""Newcomers in a year, as a share of the people at the beginning."""

RATES: Final = {"ties": 10.0, "tie_removals": 4.0, "attribute_changes": 5.0, "departures": 0.5}
"""Mean number of events in the year per newcomer, see `ktsafe.graph.social_network.FeedRates`."""

CONFIG = """\
# Written by `ktsafe demo`; run it again with: ktsafe run {path} --drain

# The feed also tells a region. It is not listed, so it is dropped unstored and counted. Listing it
# would split the people into smaller groups, and less could be shown of everybody.
[attributes]
quasi_identifiers = ["gender", "age_band"]
sensitive = "health"
sensitive_values = ["cancer", "depression", "hiv"]
expect_absent = ["cancer", "depression", "hiv"]  # rare in the first month

[privacy]
k = 10
alpha = "1/5"

[source]
kind = "files"
paths = ["feed.jsonl.gz"]

[sink]
kind = "files"
folder = "../releases"

[dead_letters]
kind = "files"
path = "../dead-letters.jsonl"

[state]
folder = "../state"

[release]
every = "month"

[statistics]
epsilon_per_year = 5.0

[attack]
budget = 0.6  # seconds: a quick look at each release; the default takes longer

[metrics]
listen = "127.0.0.1:{port}"
"""


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where everything goes.")] = Path("var"),
    people: Annotated[int, typer.Option(min=1, help="People in the network at first.")] = 2_000,
    days: Annotated[int, typer.Option(min=1, help="Simulated days after that.")] = 365,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same network and feed.")] = 1,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of the metrics; 0 picks a free one.")
    ] = 9464,
    feed_to: Annotated[
        Path | None,
        typer.Option(
            help="Instead: only a feed that begins with nobody, into a file (.jsonl, .jsonl.gz), "
            "or to the topic of the [source] of a service's TOML file."
        ),
    ] = None,
    per_second: Annotated[
        float | None,
        typer.Option(min=0.1, help="With --feed-to a topic: at most so many events a second."),
    ] = None,
    as_json: JsonAtEnd = False,
) -> int:
    """Import a made-up network, publish monthly, and report the worth.

    The network exists already; a year of changes follows as a feed. Started again with the same
    folder it finds the feed consumed and publishes nothing new.
    """
    if per_second is not None and (feed_to is None or feed_to.suffix != ".toml"):
        msg = "--per-second paces a feed onto a topic."
        raise ConfigError(msg, hint="Give --feed-to the TOML file of a service.")
    if feed_to is not None:
        _feed(feed_to, people, days, seed, per_second, as_json=as_json)
        return Exit.OK
    import rocksdict  # noqa: F401 -- where it is missing that is said before anything is made

    check_installed("The demo")
    home = folder / "demo"
    home.mkdir(parents=True, exist_ok=True)
    path, feed = home / "ktsafe.toml", home / "feed.jsonl.gz"
    with compiling_first():
        if not feed.exists():
            _generate(home, feed, people, days, seed)
        path.write_text(CONFIG.format(path=path, port=port), encoding="utf-8")
        # What is slow to import comes here, and not above: the compiler leaves a core to it.
        from ktsafe.stream.commands.run import counts_as_json, describe
        from ktsafe.stream.config import places
        from ktsafe.stream.config import settings as configuration
        from ktsafe.stream.service.assembly import serve

        settings = configuration.load(path)
        if not (places.private_folder(settings) / STORE).exists():
            _import(home, settings)
    counts = serve(settings, drain=True)
    if not as_json:
        # What releases are worth is told below, of all of them.
        text = describe(counts, places.by_name(settings), places.PROMISE, is_private=False)
        typer.echo(text, err=True)
    from ktsafe.assess.releases.worth import describe_life, describe_worth

    found = _worth(settings, seed)
    if as_json:
        say({**counts_as_json(counts), "worth": found}, "", as_json=True)
        return Exit.OK
    if found is not None:
        report = _reported(home / "report.html", settings, found)
        typer.echo(f"{describe_life(found.over_time)}\n{describe_worth(found)}\n{report}", err=True)
    # As it was called: a checkout's program is not on the path.
    program = sys.argv[0] if os.sep in sys.argv[0] else "ktsafe"
    typer.echo(
        f"try       {program} verify {folder / 'releases'}\n"
        f"          {program} audit {folder / 'releases'} --map {folder / 'state' / 'audit'}\n"
        f"          {program} config, to write your own configuration",
        err=True,
    )
    return Exit.OK


def _feed(
    to: Path, people: int, days: int, seed: int, per_second: float | None, *, as_json: bool
) -> None:
    """Write or send a made-up feed: people join, change, leave."""
    import numpy as np

    from ktsafe.graph.social_network import social_feed

    is_topic = to.suffix == ".toml"
    if not is_topic and not to.name.endswith((".jsonl", ".jsonl.gz")):
        msg = f"--feed-to {to} is neither a feed nor the TOML file of a service."
        raise ConfigError(msg, hint="Name a file .jsonl or .jsonl.gz, or a service's .toml.")
    if not is_topic:
        check_page(to)
    events = social_feed(people=people, days=days, rng=np.random.default_rng(seed))
    if is_topic:
        count, place = _send(to, events, per_second)
    else:
        count, place = _write_feed(to, events), str(to)
    told = f"{place}: {count:,} events of {people:,} people over {days:,} days"
    say({"to": place, "events": count}, told, as_json=as_json)


def _send(to: Path, events: Iterable[FeedEvent], per_second: float | None) -> tuple[int, str]:
    """Put events on a service's topic; return how many, and the topic."""
    from ktsafe.stream.config import settings as configuration

    config = configuration.load(to).config
    topic = config.source.kafka_topic
    if topic is None or config.kafka is None:
        msg = f"{to}: the events do not come from Kafka."
        raise ConfigError(msg, hint='Give [source] kind = "kafka", and a [kafka] table.')
    from ktsafe.connectors.kafka_topics import send_values

    values = _paced(map(msgspec.json.encode, events), per_second)
    count = 0
    for count in send_values(hurried(config.kafka), topic, values):  # noqa: B007 -- the last one
        pass
    return count, topic


def _paced(values: Iterable[bytes], per_second: float | None) -> Iterator[bytes]:
    begun = time.monotonic()
    for count, value in enumerate(values):
        if per_second is not None:
            time.sleep(max(0.0, begun + count / per_second - time.monotonic()))
        yield value


def _write_feed(path: Path, events: Iterable[FeedEvent]) -> int:
    """Write a feed, gzipped if named so; return its number of events."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with path.open("wb") as raw:
        # A fixed time stamp keeps the bytes a function of the seed.
        packed = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else None
        file: IO[bytes] = raw if packed is None else packed  # type: ignore[assignment]
        for event in events:
            file.write(encode(event) + b"\n")
            count += 1
        if packed is not None:
            packed.close()
    return count


def _generate(home: Path, feed: Path, people: int, days: int, seed: int) -> None:
    """Write a network as two files, and its future as a feed."""
    import numpy as np

    from ktsafe.graph.social_network import FeedRates, SocialNetwork, life

    typer.echo(f"generating a social network of {people:,} people, and {days:,} days", err=True)
    network = SocialNetwork(np.random.default_rng(seed))
    network.grow(people, FeedRates(departures=0))
    _export(network, home)
    joining = round(people * JOINING * days / 365)
    # The feed gets its name last: where it exists, all other files exist.
    partial = feed.with_suffix(".partial.gz")
    events = life(network, people=joining, days=days, rates=FeedRates(**RATES))
    count = _write_feed(partial, events)
    partial.rename(feed)
    typer.echo(f"{feed}: {count:,} events", err=True)


def _export(network: SocialNetwork, home: Path) -> None:
    """Write a network as `ktsafe state import` takes it."""
    graph, ids = network.graph()
    with (home / "vertices.csv").open("w", encoding="utf-8", newline="") as file:
        names = graph.schema.attributes
        writer = csv.writer(file)
        writer.writerow(["id", *names])
        values = map(graph.values, range(graph.n_vertices))
        writer.writerows(
            [one, *(own[name] for name in names)] for one, own in zip(ids, values, strict=True)
        )
    with (home / "edges.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows((ids[u], ids[v]) for u, v in graph.edges.tolist())


def _import(home: Path, settings: Settings) -> None:
    """Do what `ktsafe state import` does.

    The feed goes on where the files end.
    """
    from ktsafe.connectors.base import TopicPartition
    from ktsafe.graph.social_network import START
    from ktsafe.stream.config.connector_tables import FILES_TOPIC
    from ktsafe.stream.maintenance import state_import
    from ktsafe.stream.service import assembly

    beginning = {TopicPartition(FILES_TOPIC, 0): 0}
    with phases("importing") as progress:
        imported = state_import.import_graph(
            assembly.make_private_folder(settings),
            settings.schema,
            home / "vertices.csv",
            home / "edges.csv",
            at_us=round(START.timestamp() * 1_000_000),
            feed=state_import.feed_at(assembly.source(settings, drain=True), beginning),
            progress=progress,
        )
    typer.echo(f"imported  {imported.vertices:,} people, {imported.edges:,} ties", err=True)


def _worth(settings: Settings, seed: int) -> Worth | None:
    """Return what all releases and the last one are worth.

    None if nothing is published.
    """
    from ktsafe.assess.releases.worth import worth
    from ktsafe.stream.config import places
    from ktsafe.stream.files.private_audits import read_audit, read_owners
    from ktsafe.stream.files.releases_read import read_release, release_folders
    from ktsafe.stream.files.releases_write import AUDIT
    from ktsafe.stream.service import assembly

    releases = Path(places.by_name(settings)["releases"])
    folders = release_folders([releases]) if releases.exists() else []
    if not folders:
        return None
    with phases("measuring") as progress:
        progress("what the last release is worth", 0.0)
        release = read_release(folders[-1])
        private = places.audit_folder(settings)
        audits = [read_audit(private / folder.name / AUDIT) for folder in folders]
        owners = read_owners(private, release.manifest.release_id)
        store = assembly.open_store(settings)
        try:
            snapshot = store.snapshot()
        finally:
            store.close()
        progress("what attackers find in it", 0.5)
        return worth(snapshot, release, owners, audits, seed=seed)


def _reported(path: Path, settings: Settings, found: Worth) -> str:
    """Write the report of all releases anew, and say where."""
    from msgspec import structs

    from ktsafe.assess.report.content import content, describe_risk
    from ktsafe.assess.report.page import page, told_of
    from ktsafe.stream.config import places
    from ktsafe.stream.release.sequence_report import Sources

    releases = Path(places.by_name(settings)["releases"])
    history = told_of(Sources((releases,), places.audit_folder(settings)))
    audit = structs.replace(history[-1].audit, utility=found.utility, attacks=found.attacks)
    told = content([*history[:-1], dataclasses.replace(history[-1], audit=audit)], now())
    path.unlink(missing_ok=True)
    with new_file(path) as file:
        file.write(page(told))
    score = told["utility"]["score"]
    word = "unknown" if score is None else f"{100 * score:.0f} of 100"
    safety = told["safety"]
    return (
        f"{describe_risk(safety['risk_curve'])}\n"
        f"safety    {safety['title']}\n"
        f"report    {path}: safety, and utility (score {word}); private"
    )
