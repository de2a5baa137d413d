"""Commands to a running service: `status`, `release`, `rebase` and `erase`.

Words may be changed. What a service can be asked for is fixed in `ktsafe.stream.service.control`;
ids come in by argument or standard input and are never printed (tests/security/test_silence.py).
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ktsafe.connectors.base import Unavailable
from ktsafe.graph.inputs.spelling import id_text
from ktsafe.state.store_base import StateLocked
from ktsafe.stream.config.places import STORE, check_finished, check_there
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.release_figures import (
    ReleaseFigures,
    budget_in_words,
    freshness_in_words,
    over_time_in_words,
    safety_in_words,
    worth_in_words,
)
from ktsafe.stream.files.report_texts import text_of
from ktsafe.stream.files.verdict import Finding, found_wanting
from ktsafe.stream.monitoring.diagnosis import ProblemReport, Report
from ktsafe.stream.process.command_line import (
    Config,
    Json,
    Wait,
    Yes,
    ask_first,
    hurried,
    say,
)

if TYPE_CHECKING:
    from ktsafe.connectors.letters import Letter
    from ktsafe.state.store import GraphStore
    from ktsafe.stream.config.settings import Settings
    from ktsafe.stream.maintenance.erasure import ErasureReport

RELEASES_SHOWN = 5


def status(
    config: Config,
    dead_letters: Annotated[
        bool,
        typer.Option("--dead-letters", help="Instead: records that could not be applied, and why."),
    ] = False,
    wait: Wait = 5.0,
    as_json: Json = False,
) -> int:
    """Show the position in the feed, the published releases and the problems.

    Asks the running service; with none running, looks into its state. Exit code 5 if no service
    answers, else 0. What it prints is private: true sizes, and what releases cost.

    --dead-letters prints them from their file or topic, one per line, as JSON with contents in
    base64; no service need run.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.service.control import ask

    settings = configuration.load(config)
    if dead_letters:
        return _print_letters(settings, as_json=as_json)
    private = places.private_folder(settings)
    running = ask(private, "status", Report, patience_s=wait)
    report = running or _at_rest(private)
    found = found_wanting(places.audit_folder(settings))
    told = {**msgspec.structs.asdict(report), "found_wanting": found}
    say(told, "\n".join(lines_of(report, found)), as_json=as_json)
    return Exit.OK if running else Exit.UNAVAILABLE


def _print_letters(settings: Settings, *, as_json: bool) -> int:
    found = False
    for letter in _letters(settings):
        found = True
        typer.echo(json.dumps(letter) if as_json else letter_text(letter))
    if not found:
        typer.echo("no dead letters so far", err=True)
    return Exit.OK


def _letters(settings: Settings) -> Iterator[Letter]:
    """Yield letters as a file has them, wherever they are."""
    table, site = settings.config.dead_letters, settings.site
    if table.kafka_topic is not None:
        site = dataclasses.replace(site, kafka=hurried(site.cluster))
    return table.letters(site)


def letter_text(letter: Letter) -> str:
    """Return one line without a line break in it."""
    from ktsafe.connectors.letters import PREFIX

    told = {name.removeprefix(PREFIX): letter[name] for name in letter if name.startswith(PREFIX)}
    value = repr(b64decode(letter["value"] or ""))[2:-1]
    place = f"{told['topic']}:{told['partition']}:{told['offset']}"
    reason = f"{told['exception.class.name']} {told['exception.message']}".strip()
    # Any producer of the topic may have written this text: no control character is printed.
    return "".join(c if c.isprintable() else "?" for c in f"{place}  {reason}  {value}")


class ReleaseAtRest(msgspec.Struct, frozen=True):
    """A release as the ledger has it."""

    release_id: str
    nominal_time: str
    status: str
    vertices: int
    edges: int


class AtRest(msgspec.Struct, frozen=True):
    """What the state of a service tells that does not answer."""

    state: str
    sequence_id: str | None = None
    offsets: dict[str, int] = {}
    releases: Sequence[ReleaseAtRest] = ()
    problems: Sequence[ProblemReport] = ()


def _at_rest(private: Path) -> AtRest:
    """Return what the state of a service tells that does not answer."""
    from ktsafe.state.inspection import overview
    from ktsafe.stream.slots import rfc3339

    check_finished(private)
    if not (private / STORE).is_dir():
        return AtRest("never run")
    found = overview(private / STORE)
    return AtRest(
        state="not running, or starting",
        sequence_id=found.sequence.sequence_id if found.sequence else None,
        offsets={f"{topic}:{p}": at.next_offset for (topic, p), at in found.positions.items()},
        releases=[
            ReleaseAtRest(
                release.release_id,
                rfc3339(release.slot_us),
                str(release.status),
                release.n_vertices,
                release.n_edges,
            )
            for release in reversed(found.releases[-RELEASES_SHOWN:])
        ],
    )


def lines_of(report: Report | AtRest, wanting: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    """Yield the lines of a report of a service.

    `wanting` are findings by release, see `ktsafe.stream.files.verdict.found_wanting`.
    """
    yield f"service   {report.state}"
    if isinstance(report, Report):
        feed, lag = report.feed, text_of(report.feed.lag, ",", "unknown")
        dead = sum(feed.dead_letters.values())
        yield f"feed      {feed.records:,} records, {lag} to go, {dead:,} dead letters"
        if report.building:
            yield f"release   one is being made: {report.building} done"
    else:
        yield from (f"feed      {at} at {n:,}" for at, n in report.offsets.items())
    for release in report.releases[:RELEASES_SHOWN]:
        size = f"{release.vertices:,} vertices, {release.edges:,} edges"
        yield f"release   {release.release_id}: {size}"
        if isinstance(release, ReleaseFigures):
            yield from (f"          {words}" for words in _figures(release) if words)
    if isinstance(report, Report):
        worths = [release.secrets.worth if release.secrets else {} for release in report.releases]
        if mean := over_time_in_words(worths):
            yield f"worth     {mean}"
        if report.withheld:
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in report.withheld.items())
            yield f"withheld  {reasons}; the last release stands"
    yield from (f"wanting   {name}: {each.says}" for name, told in wanting.items() for each in told)
    do = dict.fromkeys(each.do for told in wanting.values() for each in told)
    yield from (f"          {words}" for words in do)
    for problem in report.problems:
        yield f"wrong     {problem.says}"
        yield f"          {problem.do}"


def _figures(release: ReleaseFigures) -> Iterator[str]:
    """Yield a release's budget, safety, worth and freshness in words."""
    if release.statistics:
        yield budget_in_words(release.statistics)
    if secrets := release.secrets:
        yield safety_in_words(secrets)
        yield worth_in_words(secrets.worth)
        yield freshness_in_words(secrets.freshness) if secrets.freshness else ""


def release(
    config: Config,
    wait: Wait = 60.0,
    as_json: Json = False,
) -> int:
    """Have a running service make its next release now.

    It shows what has been read so far; later events of the same slot are shown in the next one. It
    carries the slot's nominal time, as ever; `ktsafe status` says when it is out.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.service.control import BegunRelease, ask

    private = places.private_folder(configuration.load(config))
    report = ask(private, "release", BegunRelease, patience_s=wait)
    if report is None:
        hint = (
            f"no service is running. `ktsafe run {config} --drain` releases what the feed holds, "
            "and ends."
        )
        raise Unavailable("release", str(private), hint)
    say(report, f"the release of {report.slot} is being made", as_json=as_json)
    return Exit.OK


def rebase(
    config: Config,
    yes: Yes = False,
    wait: Wait = 600.0,
    as_json: Json = False,
) -> int:
    """Begin a new sequence, with the parameters that the configuration has now.

    The true graph and the offsets stay; a release not yet published is given up. An attribute that
    is new in the schema is missing for everybody until events give it. Everybody gets a new id and
    other candidates. An attacker with releases before and after links people by their ties and
    keeps only candidates that fit both: one linked rebase left 40% of people with fewer than k.
    `ktsafe audit` of both sequences tells how many it is for yours.

    A running service begins it once no release is in flight; where the configuration has changed
    since its start it must be stopped before.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.release.sequence_inputs import inputs_digest, new_sequence
    from ktsafe.stream.service import assembly
    from ktsafe.stream.service.control import Arguments, BegunSequence, ask

    settings = configuration.load(config)
    if not yes:
        ask_first(
            "Readers of releases before and after can link the two sequences, and many people then "
            "have fewer candidates than k. Begin a new one?"
        )
    private = places.private_folder(settings)
    check_there(private, "rebase")
    digest = inputs_digest(settings.params, settings.schema, settings.sequence)
    asked = Arguments(inputs_digest=digest)
    report = ask(private, "rebase", BegunSequence, asked, patience_s=wait)
    if report is None:
        with closing(assembly.open_store(settings, accept_schema=True)) as store:
            store.ledger.drop_cut()
            seed = settings.config.release.seed
            sequence = new_sequence(digest, time.time_ns() // 1000, seed=seed)
            store.ledger.start_sequence(sequence)
        report = BegunSequence(sequence.sequence_id)
    text = f"new sequence {report.sequence_id}; the next release is its first"
    say(report, text, as_json=as_json)
    return Exit.OK


# `ktsafe erase`: take persons out of everything that the service keeps.

OUT_OF_REACH = (
    "Out of reach: releases already published, backups of the state folder, and the feed itself."
)
REMAINS = f"{OUT_OF_REACH} Erase the person at the source too: later events would bring them back."


def erase(
    person: Annotated[
        str, typer.Argument(help='Id of the person; "-" reads ids from standard input.')
    ],
    config: Config,
    yes: Yes = False,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Erase nothing: read every byte that is kept, and say where these ids, or "
            "values of attributes, are left.",
        ),
    ] = False,
    wait: Wait = 600.0,
    as_json: Json = False,
) -> int:
    """Erase a person from graph, mappings, file letters, and disk.

    A running service does it between two rounds of its work, once a release that is being built is
    staged. With none running, a release that was cut and not staged is given up. What an id means
    in published releases is forgotten here; in the next release nobody keeps the place.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import erasure
    from ktsafe.stream.maintenance.erasure import note
    from ktsafe.stream.service.control import Arguments, ask

    settings = configuration.load(config)
    ids = _ids(person)
    if prove:
        return _prove(settings, ids, wait, as_json=as_json)
    ids = list(dict.fromkeys(id_text(each) or each for each in ids))
    if not yes:
        ask_first(f"Erase {len(ids):,} person(s) for good?")
    private = places.private_folder(settings)
    report = ask(private, "erase", erasure.ErasureReport, Arguments(ids), patience_s=wait)
    if report is None:
        with closing(_opened(settings)) as store:
            report = erasure.erase_everywhere(
                store,
                ids,
                places.audit_folder(settings),
                lambda ids: settings.config.dead_letters.erase(settings.site, ids),
                lambda aliases: note(private, aliases),
            )
    told = {**msgspec.structs.asdict(report), "note": REMAINS}
    say(told, "\n".join(_erased_lines(report)), as_json=as_json)
    return Exit.OK


def _prove(settings: Settings, texts: list[str], wait_s: float, *, as_json: bool) -> int:
    """Report the remains of ids and values.

    Returns 1 if there are any, but for what chance may have put.
    """
    from ktsafe.stream.commands.state import parts_now
    from ktsafe.stream.config import places
    from ktsafe.stream.maintenance.erasure import remains

    letters = settings.config.dead_letters.private_file(settings.site)
    private = places.private_folder(settings)
    with parts_now(settings, wait_s) as parts:
        others = [path for path in sorted(private.iterdir()) if path.name != STORE]
        others += [letters] if letters is not None and letters.exists() else []
        left, chance = remains(texts, [parts.store, *others])
    report = {"looked_for": len(texts), "left": left, "chance": chance, "note": OUT_OF_REACH}
    lines = [f"left      {n:,} in {place}" for place, n in left.items()]
    lines = lines or [f"left      nothing of {len(texts):,}"]
    lines += [
        f"chance    {n:,} in {place}: among random letters, where short texts stand by chance"
        for place, n in chance.items()
    ]
    if letters is None:
        lines.append("letters   in a topic: not looked at")
    say(report, "\n".join([*lines, f"note      {OUT_OF_REACH}"]), as_json=as_json)
    return Exit.UNSAFE if left else Exit.OK


def _erased_lines(report: ErasureReport) -> list[str]:
    lines = [f"erased    {report.erased:,} of {report.asked:,}"]
    if unknown := report.unknown:
        lines.append(f"          {unknown:,} not in the graph; whatever was left of them is gone")
    blanked, letters = report.mapping_entries_blanked, report.dead_letters_blanked
    lines.append(f"mappings  {blanked:,} entries of past releases blanked")
    if letters is None:
        lines.append("letters   in a topic: they go when its retention ends")
    else:
        lines.append(f"letters   {letters:,} dead letters blanked")
    if report.release_given_up:
        lines.append("release   one that was not staged yet is given up")
    if not report.noted:
        lines.append(
            "restore   nothing could be noted beside the state folder: restoring a backup from "
            "before will bring them back without a word"
        )
    return [*lines, f"note      {REMAINS}"]


def _opened(settings: Settings) -> GraphStore:
    """Open the store of a service that does not run.

    Raises
    ------
    StateUnusable
        If there is none, or not yet.
    StateLocked
        If a service holds it all the same.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.service import assembly

    private = places.private_folder(settings)
    check_there(private, "erase")
    try:
        return assembly.open_store(settings)
    except StateLocked as error:
        hint = (
            "the service that holds it cannot be asked yet. Wait, or send it a vertex.delete event."
        )
        raise StateLocked("erase", error.subject, hint) from None


def _ids(person: str) -> list[str]:
    lines = sys.stdin.read().splitlines() if person == "-" else [person]
    ids = list(dict.fromkeys(line for line in lines if line))
    if not ids:
        msg = "No id was given."
        raise ConfigError(msg, hint="Name one, or give one per line on standard input.")
    return ids
