"""`ktsafe audit`: judge a sequence of releases, by its bytes and the private mapping."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ktsafe.stream.commands.warm import compile_judges
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.freshness_figures import over_time_in_words
from ktsafe.stream.files.release_figures import worth_in_words, worth_of
from ktsafe.stream.formatting import text_of
from ktsafe.stream.monitoring.progress import phases
from ktsafe.stream.process.command_line import Json, Mappings, Releases, Truth, TruthSchema


def audit(
    folders: Releases,
    mapping: Mappings = None,
    truth: Truth = None,
    schema: TruthSchema = None,
    window: Annotated[
        str | None,
        typer.Option(help="Releases that may be linked: all, or a number. Default: as promised."),
    ] = None,
    cover: Annotated[
        bool | None,
        typer.Option(
            "--cover/--no-cover",
            help="Whether k must hold if a change is known. Default: as guaranteed.",
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help='Instead: what was ever shown of this true id; "-" reads it from standard input.'
        ),
    ] = None,
    as_json: Json = False,
    limit: Annotated[int, typer.Option(min=0, help="Vertices to name, per violation.")] = 10,
) -> int:
    """Check whether releases are safe together; the exit code is 0 only if they are.

    With --person it judges nothing: it tells what was ever shown of one person, among how many
    candidates, which answers a request for access. What it prints is private.
    """
    if person is not None:
        return _receipt(folders, mapping, person, as_json=as_json)
    if truth is not None and mapping is None:
        msg = "--truth needs --map."
        raise ConfigError(msg, hint="Without the mapping nobody can say who is who.")
    asked = _window(window)
    compile_judges()
    from ktsafe.stream.evaluation.sequence_report import Sources, audit_sequence

    sources = Sources(tuple(folders), mapping, truth, schema)
    with phases("auditing") as progress:
        report = audit_sequence(sources, asked, cover, limit, progress)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report)
    return Exit.OK if report["safe"] else Exit.UNSAFE


def _receipt(folders: list[Path], mapping: Path | None, person: str, *, as_json: bool) -> int:
    """Print what was shown of a person."""
    if mapping is None:
        hint = "Without the mapping nobody can say who is who."
        raise ConfigError("--person needs --map.", hint=hint)
    compile_judges()
    from ktsafe.stream.evaluation.receipt import describe_receipt, receipt

    name = sys.stdin.readline().strip() if person == "-" else person
    found = receipt(folders, mapping, name)
    typer.echo(json.dumps(found, indent=2) if as_json else describe_receipt(found))
    return Exit.OK


def _window(text: str | None) -> Any:
    if text is None or text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError("--window must be a number of releases from 1, or all.")
    return int(text)


def _print(report: dict[str, Any]) -> None:
    promise = report["promise"]
    word = "safe" if report["safe"] else "NOT safe"
    typer.echo(
        f"{_several(report['releases'], 'release')} in "
        f"{_several(len(report['sequences']), 'sequence')}: {word} "
        f"(w = {promise['window']}, cover {'on' if promise['cover'] else 'off'})"
    )
    for sequence in report["sequences"]:
        _print_sequence(sequence)
    for kind in report["violations"]:
        _print_violation(kind)
    for line in report["not_checked"]:
        typer.echo(f"not checked: {line}")


def _print_sequence(sequence: dict[str, Any]) -> None:
    several = _several(sequence["releases"], "release")
    typer.echo(f"sequence {sequence['sequence_id']}, {several}")
    for view in ("published", "linked"):
        if view not in sequence:
            continue
        figures = sequence[view]
        if view == "linked":
            typer.echo("  for an attacker that follows people over rebirths and earlier sequences:")
        for name, words in (
            ("candidates", "candidates over all releases"),
            ("candidates_real", "  real people among them"),
            ("candidates_real_leavers_known", "  if the attacker knows the departed people"),
        ):
            if figures[name]["min"] is not None:  # Else nobody is known.
                typer.echo(f"  {words}: {_counts(figures[name])}")
        share = figures["sensitive_share"]
        typer.echo(
            f"  sensitive share of them: most {text_of(share['max'], '', 'none')}, "
            f"median {text_of(share['median'], '', 'none')}, {share['above_alpha']} above alpha"
        )
    _print_changes(sequence["changes"])
    if (persistence := sequence.get("persistence")) is not None:
        typer.echo(
            "  true against inserted ties, 0.5 tells nothing: age "
            f"{text_of(persistence['age_auc'], '.3f', 'unknown')}, survival "
            f"{text_of(persistence['survival_auc'], '.3f', 'unknown')}"
        )
    if (containment := sequence.get("containment")) is not None:
        typer.echo(
            f"  held back: {containment['withheld_people']} people for at most "
            f"{containment['withheld_releases_max']} releases, {containment['missing_ties']} ties "
            f"for at most {containment['missing_releases_max']}, {containment['held_changes']} "
            "changes"
        )
    _print_usefulness([row["usefulness"] for row in sequence["by_release"] if "usefulness" in row])
    typer.echo(f"  decided by: {sequence['decided_by']}")


def _print_changes(changes: dict[str, Any]) -> None:
    """Print how many changes are visible and, if any are, how many candidates changed alike."""
    typer.echo(f"  visible changes: {changes['visible']}")
    if changes["k_delta_min"] is not None:
        alike = changes["alpha_alike"]
        typer.echo(
            f"    fewest candidates that changed alike {changes['k_delta_min']}, "
            f"{changes['below_k']} below k; sensitive share of them: most "
            f"{text_of(alike['max'], '', 'none')}, {alike['above_alpha']} above alpha"
        )


def _print_usefulness(rows: list[dict[str, Any]]) -> None:
    """Print what the last release shares with the truth, and the mean and worst of all."""
    if not rows:
        return
    worths = [worth_of({"usefulness": row}) for row in rows]
    typer.echo(f"  last release: {worth_in_words(worths[-1]) or 'no edges, true or released'}")
    dear = sum(row["costs_more_than_nothing"] for row in rows)
    mean = over_time_in_words(worths)
    typer.echo(f"  {mean + '; ' if mean else ''}{_several(dear, 'release')} dearer than nothing")


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _counts(figures: dict[str, Any]) -> str:
    return (
        f"fewest {figures['min']}, 1% at most {figures['p1']}, 5% at most {figures['p5']}, "
        f"median {figures['median']}; {figures['below_k']} of {figures['vertices']} below k"
    )


def _print_violation(kind: dict[str, Any]) -> None:
    """Print one kind of violation with the releases and some vertices, by published id."""
    first = kind["first"]
    more = len(kind["releases"]) - 1
    where = first["release_id"] + (f" and {_several(more, 'more release')}" if more else "")
    typer.echo(f"VIOLATION {kind['kind']} in {where}")
    if not first["examples"]:
        typer.echo(f"  {first['count']}: {kind['meaning']}")
    for name in first["examples"]:
        typer.echo(f"  vertex {name} {kind['meaning']}")
    if first["examples"] and (rest := first["count"] - len(first["examples"])) > 0:
        typer.echo(f"  and {rest} more vertices in that release (--limit shows them)")
