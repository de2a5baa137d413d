"""`ktsafe status`: the activity of a service, and its problems."""

from __future__ import annotations

import dataclasses
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.files.freshness_figures import freshness_in_words, over_time_in_words
from ktsafe.stream.files.release_figures import budget_in_words, safety_in_words, worth_in_words
from ktsafe.stream.files.verdict import found_wanting
from ktsafe.stream.formatting import text_of
from ktsafe.stream.process.command_line import Config, Json, Wait, hurried, say

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings

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
    from ktsafe.stream.service.control_wire import ask

    settings = configuration.load(config)
    if dead_letters:
        return _print_letters(settings, as_json=as_json)
    private = places.private_folder(settings)
    report = ask(private, "status", patience_s=wait)
    running = report is not None
    if report is None:
        report = _at_rest(private)
    found = found_wanting(places.audit_folder(settings))
    report["found_wanting"] = msgspec.to_builtins(found)
    say(report, "\n".join(_lines(report)), as_json=as_json)
    return Exit.OK if running else Exit.UNAVAILABLE


def _print_letters(settings: Settings, *, as_json: bool) -> int:
    found = False
    for letter in _letters(settings):
        found = True
        typer.echo(json.dumps(letter) if as_json else _letter_text(letter))
    if not found:
        typer.echo("no dead letters so far", err=True)
    return Exit.OK


def _letters(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield letters as a file has them, wherever they are."""
    table, site = settings.config.dead_letters, settings.site
    if table.kafka_topic is not None:
        site = dataclasses.replace(site, kafka=hurried(site.cluster))
    return table.letters(site)


def _letter_text(letter: dict[str, Any]) -> str:
    """Return one line without a line break in it."""
    from ktsafe.connectors.letters import PREFIX

    told = {name.removeprefix(PREFIX): letter[name] for name in letter if name.startswith(PREFIX)}
    value = repr(b64decode(letter["value"] or ""))[2:-1]
    place = f"{told['topic']}:{told['partition']}:{told['offset']}"
    reason = f"{told['exception.class.name']} {told['exception.message']}".strip()
    # Any producer of the topic may have written this text: no control character is printed.
    return "".join(c if c.isprintable() else "?" for c in f"{place}  {reason}  {value}")


def _at_rest(private: Path) -> dict[str, Any]:
    """Return what the state of a service tells that does not answer."""
    from ktsafe.state.inspection import overview
    from ktsafe.stream.config.places import STORE, check_finished
    from ktsafe.stream.slots import rfc3339

    check_finished(private)
    if not (private / STORE).is_dir():
        return {"state": "never run", "releases": [], "problems": []}
    found = overview(private / STORE)
    return {
        "state": "not running, or starting",
        "sequence_id": found.sequence and found.sequence.sequence_id,
        "offsets": {f"{topic}:{p}": at.next_offset for (topic, p), at in found.positions.items()},
        "releases": [
            {
                "release_id": release.release_id,
                "nominal_time": rfc3339(release.slot_us),
                "status": str(release.status),
                "vertices": release.n_vertices,
                "edges": release.n_edges,
            }
            for release in reversed(found.releases[-RELEASES_SHOWN:])
        ],
        "problems": [],
    }


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"service   {report['state']}"]
    if feed := report.get("feed"):
        lag = text_of(feed["lag"], ",", "unknown")
        dead = sum(feed["dead_letters"].values())
        lines.append(f"feed      {feed['records']:,} records, {lag} to go, {dead:,} dead letters")
    lines += [f"feed      {at} at {n:,}" for at, n in report.get("offsets", {}).items()]
    if report.get("building"):
        lines.append(f"release   one is being made: {report['building']} done")
    for release in report["releases"][:RELEASES_SHOWN]:
        size = f"{release['vertices']:,} vertices, {release['edges']:,} edges"
        lines.append(f"release   {release['release_id']}: {size}")
        if budget := release.get("statistics"):
            lines.append(f"          {budget_in_words(budget)}")
        secrets = release.get("secrets") or {}
        if safety := safety_in_words(secrets):
            lines.append(f"          {safety}")
        if worth := worth_in_words(secrets.get("worth", {})):
            lines.append(f"          {worth}")
        if (fresh := secrets.get("freshness")) and (follows := freshness_in_words(fresh)):
            lines.append(f"          {follows}")
    worths = [(release.get("secrets") or {}).get("worth", {}) for release in report["releases"]]
    if mean := over_time_in_words(worths):
        lines.append(f"worth     {mean}")
    if withheld := report.get("withheld"):
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in withheld.items())
        lines.append(f"withheld  {reasons}; the last release stands")
    lines += _wanting(report.get("found_wanting", {}))
    for problem in report["problems"]:
        lines.append(f"wrong     {problem['says']}")
        lines.append(f"          {problem['do']}")
    return lines


def _wanting(found: dict[str, list[dict[str, str]]]) -> list[str]:
    """Return the deficient releases, with faults and remedies."""
    lines = [f"wanting   {name}: {each['says']}" for name, told in found.items() for each in told]
    do = dict.fromkeys(each["do"] for told in found.values() for each in told)
    return [*lines, *(f"          {words}" for words in do)]
