"""`ktsafe anonymize`: one kt-safe release of a graph in files.

Printed words may be changed. An option or its help is also in docs/commands.md (`make reference`),
and each is tried in tests/stream/commands/test_anonymize_options.py. `US_PER_TIE` is measured:
measure it again when the search gets faster or slower.
"""

from __future__ import annotations

import dataclasses
import itertools
import secrets
import shlex
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.anonymization.request import (
    MIN_F1,
    Aim,
    AnonymizeOptions,
    Effort,
    Generalize,
    RareQi,
    Values,
)
from ktsafe.errors import BelowMinimumUtility, InvalidGraph, InvalidParams
from ktsafe.graph.inputs.names import chosen_columns
from ktsafe.params import PrivacyParams
from ktsafe.stream.assessment import assessment, check_installed
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.report_texts import check_page, cost_in_words, new_file, number
from ktsafe.stream.maintenance.cold_kernels import compile_first
from ktsafe.stream.process.command_line import (
    Columns,
    EdgesOfAnyKind,
    Hierarchies,
    Json,
    Keep,
    Report,
    SchemaIfAny,
    VerticesIfAny,
    phases,
    say,
    words_of,
)
from ktsafe.stream.process.pool import Workers

if TYPE_CHECKING:
    from ktsafe.anonymization.anonymization import Anonymized
    from ktsafe.audit import Traced
    from ktsafe.stream.files.audit_model import Audit
    from ktsafe.stream.files.graphs import GraphFile
    from ktsafe.stream.files.releases_read import Release

USEFULNESS = {
    "true": "true",
    "released": "released",
    "both": "shared",
    "precision": "precision",
    "recall": "recall",
    "F1": "f1",
}
"""Columns of the table that the command prints, and which figure each shows."""

F1_POOR = 0.3
"""Below this F1 of ties the command names what would show more."""

LARGE = 100_000
"""Ties from which on the command says how long it may take."""
US_PER_TIE = (60, 250)
"""Core microseconds: measured on six networks, the less ties a pair of classes has the more."""


def anonymize_files(
    edges: EdgesOfAnyKind,
    out: Annotated[Path, typer.Option(help="New folder for the release.")],
    audit: Annotated[Path, typer.Option(help="New folder for the private audit.")],
    vertices: VerticesIfAny = None,
    schema: SchemaIfAny = None,
    columns: Columns = "",
    k: Annotated[int, typer.Option(help="Fewest candidates of a person; 12 for health data.")] = 10,
    alpha: Annotated[str, typer.Option(help="Greatest sensitive share of candidates.")] = "0.2",
    effort: Annotated[Effort, typer.Option(help="How long to search.")] = "balanced",
    aim: Annotated[
        Aim,
        typer.Option(
            help="balanced: as many edges as ties between any two values; f1: most true ties; "
            "cost: fewest changes."
        ),
    ] = "balanced",
    rare_qi: Annotated[
        RareQi, typer.Option(help="How to treat people whose quasi-identifiers fewer than k share.")
    ] = "withhold",
    values: Annotated[
        Values,
        typer.Option(
            help="exchanged: members of a cohort exchange sensitive values; in place: each shows "
            "its own, and the values of friends identify people."
        ),
    ] = "exchanged",
    generalize: Annotated[
        Generalize, typer.Option(help="auto: group values as `ktsafe advise` proposes.")
    ] = "none",
    keep: Keep = "",
    hierarchies: Hierarchies = None,
    min_f1: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Write nothing if F1 of ties is lower; exit code 1. 0: write.",
        ),
    ] = MIN_F1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; default: one per core.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeatable output, for tests only. Default: unpredictable."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="New private HTML file: is it safe, is it useful?"),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="What readers are told: title, publisher, contact, terms, licence; repeatable.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Anonymize one graph; the result is verified before the command succeeds."""
    params = PrivacyParams(k, 0, alpha, 0)  # type: ignore[arg-type]
    options = AnonymizeOptions(effort=effort, aim=aim, rare_qi=rare_qi, values=values)
    told = _told_about(about or [])
    if vertices is not None and schema is None:
        msg = "--vertices needs --schema."
        raise InvalidGraph(msg, hint="It says which of the attributes are published, and how.")
    from ktsafe.stream.files.single_release import check_folders

    check_folders(out, audit)
    if report is not None:
        check_page(report)
        check_installed("--report")
    if generalize == "none" and (keep or hierarchies):
        raise InvalidParams("--keep and --hierarchies need --generalize auto.")
    if generalize != "none":
        check_installed("--generalize auto")
    places = Paths(
        vertices, edges, schema, chosen_columns(columns), out, audit, report, hierarchies
    )
    coarser = None if generalize == "none" else words_of(keep)
    found = _anonymized(places, params, options, workers, seed, coarser, min_f1, told)
    if as_json:
        say(found, "", as_json=True)
    else:
        _print(found)
        _hint(found, places)
    return Exit.OK


@dataclasses.dataclass(frozen=True, slots=True)
class Paths:
    """Files that the command reads and writes; None where none is given.

    `hierarchies` is None if they are in the schema file.
    """

    vertices: Path | None
    edges: Path
    schema: Path | None
    columns: dict[str, str]
    out: Path
    audit: Path
    report: Path | None
    hierarchies: Path | None


def _anonymized(
    places: Paths,
    params: PrivacyParams,
    options: AnonymizeOptions,
    workers: int | None,
    seed: int | None,
    keep: list[str] | None,
    min_f1: float,
    about: dict[str, str],
) -> Report:
    """Make, verify and write a release; without `keep` nothing is generalized."""
    # Compiled kernels load slowly, so only commands in need of them pay.
    import numpy as np

    from ktsafe import anonymize
    from ktsafe.audit import values_told
    from ktsafe.graph.schemas import named_values
    from ktsafe.stream.files.graphs import NO_ATTRIBUTES, CompositeSchema, read_graph, read_schema
    from ktsafe.stream.files.releases_write import ReleaseHeader
    from ktsafe.stream.files.single_release import (
        atomic_folder,
        write_private,
        written_and_verified,
    )

    declared = NO_ATTRIBUTES if places.schema is None else read_schema(places.schema)
    source = read_graph(places.vertices, places.edges, declared, places.columns)
    _say_how_long(source)
    compile_first()
    started = time.perf_counter()
    source, said = (source, None) if keep is None else _generalized(source, places, params, keep)
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    with phases("anonymizing") as progress, Workers(workers).open() as (executor, _):
        result = anonymize(
            source.graph, params, rng=rng, options=options, executor=executor, progress=progress
        )
    seconds = time.perf_counter() - started
    # The release takes its place last: where it is seen, it was verified and has its audit.
    with (
        atomic_folder(places.out) as release_room,
        atomic_folder(places.audit) as audit_room,
        phases("judging") as progress,
    ):
        progress("verifying", 0.0)
        groups = named_values(source.graph.schema.groups, source.people, params.k)
        header = ReleaseHeader(places.out.name, "single", None, params, about=about)
        header = dataclasses.replace(header, generalized=groups, values=result.values)
        release, verdict, ids = written_and_verified(
            release_room, result, header, seed=seed, shown=isinstance(declared, CompositeSchema)
        )
        progress("measuring", 0.5)
        traced = _traced(source, result, min_f1, places)
        figures = _audit(traced, params, seconds, is_reported=places.report is not None)
        write_private(audit_room, source.ids, result, ids, figures)
    if places.report is not None:
        _write_report(places.report, places.out, release, figures)
    return {
        "release": str(places.out),
        "audit": str(places.audit),
        "report": None if places.report is None else str(places.report),
        "kt_safe": verdict.is_safe,
        "vertices": release.manifest.vertices,
        "edges": release.manifest.edges,
        "candidates_min": verdict.min_k,
        "seconds": round(seconds, 3),
        "edges_repeated": source.edges_repeated,
        "loops": source.loops,
        "ignored": list(source.ignored),
        "notes": list(source.notes),
        "generalized": said,
        "values": values_told(traced),
        "figures": figures,
    }


def _told_about(texts: list[str]) -> dict[str, str]:
    """Return what readers are told by name, as `[release] about` has it.

    Raises
    ------
    InvalidParams
        If a text has no name, an unknown one, or one that was given, or is too long.
    """
    import msgspec

    from ktsafe.reader.exports import ABOUT
    from ktsafe.stream.config.settings import AboutTable

    told = dict(text.split("=", 1) for text in texts if "=" in text)
    if len(told) < len(texts):
        raise InvalidParams("--about takes NAME=TEXT, each name once.")
    try:
        return msgspec.convert(told, AboutTable).given()
    except msgspec.ValidationError as error:
        raise InvalidParams(f"--about: {error}.", hint=f"Known: {', '.join(ABOUT)}.") from error


def _say_how_long(source: GraphFile) -> None:
    """Say on standard error how long a large network may take."""
    n, m = source.graph.n_vertices, source.graph.n_edges
    if m >= LARGE:
        least, most = (m * us / 1e6 for us in US_PER_TIE)
        told = f"{n:,} people, {m:,} ties: about {least:.0f} to {most:.0f} s on a free core"
        typer.echo(f"ktsafe: {told}", err=True)


def _generalized(
    source: GraphFile, places: Paths, params: PrivacyParams, keep: list[str]
) -> tuple[GraphFile, str]:
    """Return the graph told as is advised, and the advice in words."""
    from ktsafe.graph.schemas import people_of_values

    declared = places.hierarchies or places.schema
    hooks = assessment("--generalize auto")
    advice = hooks.advised(source.graph, params, hierarchies=declared, keep=keep)
    # Groups that the schema file declares are values here; what is in them is known beside.
    people = people_of_values(source.graph)
    people = {name: counts + source.people.get(name, Counter()) for name, counts in people.items()}
    return dataclasses.replace(source, graph=advice.graph, people=people), str(advice)


def _traced(source: GraphFile, result: Anonymized, min_f1: float, places: Paths) -> Traced:
    """Return the release and the truth; refuse one that shows little.

    Raises
    ------
    BelowMinimumUtility
        With what would show more.
    """
    from ktsafe.audit import trace, usefulness

    traced = trace(source.graph, result.graph, result.origin, result.value_at)
    if usefulness(traced).worth < min_f1:
        more = _advise(places) or "ktsafe advise"
        hint = f"`{more}` says what would show more; --min-f1 0 writes it anyway."
        raise BelowMinimumUtility("below_min_f1", hint=hint)
    return traced


def _audit(
    traced: Traced,
    params: PrivacyParams,
    seconds: float,
    *,
    is_reported: bool,
) -> Audit:
    """Return the private audit, and the figures of a report if asked."""
    from msgspec.structs import replace

    from ktsafe.audit import audit_traced
    from ktsafe.stream.files.audit_model import Audit

    figures = Audit.of(audit_traced(traced, params))
    figures = replace(figures, seconds={"anonymize": round(seconds, 3)})
    if not is_reported:
        return figures
    with phases("measuring") as progress:
        return assessment("--report").measured(figures, traced, params, progress)


def _write_report(path: Path, folder: Path, release: Release, audit: Audit) -> None:
    from ktsafe.stream.files.releases_read import manifest_sha256

    with new_file(path) as file:
        hooks = assessment("--report")
        file.write(hooks.page(release.manifest, audit, manifest_sha256(folder)))


def _print(report: Report) -> None:
    audit: Audit = report["figures"]
    ties, people = audit.usefulness.edges, audit.usefulness.vertices
    typer.echo(
        f"{report['release']}: kt-safe by the strict verifier; fewest candidates "
        f"{report['candidates_min'] or 'none'}\n"
        f"{report['audit']}: private (true ids and what follows from them); never publish it\n"
        f"anonymized in {report['seconds']:.1f} s; {cost_in_words(ties)}\n"
    )
    table = Table("", *USEFULNESS, box=SIMPLE_HEAD)
    for title, found in (("people", people), ("ties", ties)):
        table.add_row(title, *(number(getattr(found, name), 3) for name in USEFULNESS.values()))
    Console(highlight=False).print(table)
    if withheld := people.true - people.shared:
        typer.echo(f"{withheld:,} of {people.true:,} people are withheld, and their ties")
    for name, told in report["values"].items():
        if not any(told.values()):
            continue  # The schema has no sensitive attribute.
        typer.echo(f"{name}: {_told_in_words(told)}")
    if report["report"] is not None:
        typer.echo(f"{report['report']}: how safe and how useful it is; private")
    if report["generalized"] is not None:
        typer.echo(f"generalized: {report['generalized']}")
    if report["edges_repeated"] or report["loops"]:
        typer.echo(
            f"ignored in the edge file: {report['edges_repeated']:,} duplicate edges, "
            f"{report['loops']:,} self-loops"
        )
    if report["ignored"]:
        typer.echo(
            f"not published, since the schema does not say how: {', '.join(report['ignored'])}"
        )
    for note in report["notes"]:
        typer.echo(f"note: {note}")


def _told_in_words(told: dict[str, int]) -> str:
    """Return what became of the values of one attribute."""
    parts = [f"{told['shown']:,} values as given"]
    if told["otherwise"]:
        parts.append(f"{told['otherwise']:,} told otherwise")
    if told["sensitive"]:
        parts.append(
            f"{told['sensitive']:,} sensitive and {told['harmless']:,} harmless shown as -"
        )
    elif told["harmless"]:
        parts.append(f"{told['harmless']:,} shown as -")
    return ", ".join(parts)


def _advise(places: Paths) -> str:
    """Return the command that prices fewer or broader attributes, or ""."""
    files = (places.vertices, places.edges, places.schema)
    if None in files:
        return ""
    words = zip(("--vertices", "--edges", "--schema"), map(str, files), strict=True)
    said = ",".join(f"{role}={column}" for role, column in places.columns.items())
    columns = ["--columns", said] if said else []
    return shlex.join(["ktsafe", "advise", *itertools.chain.from_iterable(words), *columns])


def _hint(report: Report, places: Paths) -> None:
    """Name the command that prices fewer attributes, if few ties are shown."""
    few = "Few ties are shown" if report["vertices"] else "Nobody is shown"
    ties = report["figures"].usefulness.edges
    advise = _advise(places)
    if advise and ties.true and (ties.f1 or 0) < F1_POOR:
        typer.echo(
            f"{few}: the quasi-identifiers make too many groups of people for this k. "
            f"What fewer or broader ones would give:\n    {advise}"
        )
