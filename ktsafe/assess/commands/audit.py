"""`ktsafe audit`: the owner's judgement, with mapping and truth.

Words may be changed, exit codes may not: 1 is a broken promise, 2 a damaged file
(tests/ktsafe/assess/commands/test_audit.py). Nothing may be printed that names a person, but for
the receipt that was asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ktsafe.stream.assessment import check_installed
from ktsafe.stream.commands.verify import judged_together
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.report_texts import check_page, new_file, now
from ktsafe.stream.maintenance.cold_kernels import compile_judges
from ktsafe.stream.process.command_line import (
    FiguresSeed,
    Json,
    Mappings,
    Releases,
    Truth,
    TruthSchema,
    phases,
    say,
)

if TYPE_CHECKING:
    from ktsafe.assess.releases.attacks import AttackReport
    from ktsafe.stream.release.sequence_report import Sources


def audit(
    folders: Releases,
    mapping: Mappings = None,
    truth: Truth = None,
    schema: TruthSchema = None,
    window: Annotated[
        Literal["1", "all"] | None,
        typer.Option(help="Releases that may be linked: all, or 1. Default: as promised."),
    ] = None,
    cover: Annotated[
        bool | None,
        typer.Option(
            "--cover/--no-cover",
            help="Whether k must hold if a change is known. Default: as guaranteed.",
        ),
    ] = None,
    attacks: Annotated[
        str, typer.Option(help="Instead: run known attacks, all or names with commas between.")
    ] = "",
    page: Annotated[
        Path | None,
        typer.Option(help="Instead: write a report on the last release to this new HTML file."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="The page for readers of releases: coarse figures.")
    ] = False,
    context: Annotated[
        Path | None,
        typer.Option(help="For the page: TOML with what only the owner can state, to sign."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help='Instead: what was ever shown of this true id; "-" reads it from standard input.'
        ),
    ] = None,
    seed: FiguresSeed = 0,
    as_json: Json = False,
    limit: Annotated[int, typer.Option(min=0, help="Vertices to name, per violation.")] = 10,
) -> int:
    """Check releases with the private mapping and the truth.

    Guarantees, attacks, a report.

    By default it checks whether releases are safe together; the exit code is 0 only if they are.
    Readers have no mapping and use `ktsafe verify --together`. What it prints is private.

    --attacks says how many people each known attacker finds, beside an attacker without that
    knowledge and beside the bound, if there is one; ! marks figures surely above it. Figures are no
    verdict: the exit code is 0.

    --page is made from private audits that exist already; --truth measures what the last audit does
    not tell, --attacks runs more attacks for it, --context adds a dossier. Only with --public it
    may be given to readers: what is promised, and what noise to expect in coarse steps.

    --person answers a request for access: what was ever shown of one person, and among how many
    candidates.
    """
    from ktsafe.stream.release.sequence_report import Sources

    sources = Sources(tuple(folders), mapping, truth, schema)
    if page is None and (public or context is not None):
        raise ConfigError("--public and --context are for a page.", hint="Name a file with --page.")
    if person is not None:
        return _receipt(folders, mapping, person, as_json=as_json)
    if page is not None:
        check_installed("--page")
        check_page(page)
    if attacks:
        check_installed("--attacks")
    found = None if not attacks else _attacked(sources, attacks, seed)
    if page is not None:
        return _write_page(
            sources, page, found, public=public, context=context, seed=seed, as_json=as_json
        )
    if found is not None:
        return _say_attacks(found, as_json=as_json)
    if truth is not None and mapping is None:
        msg = "--truth needs --map."
        raise ConfigError(msg, hint="Without the mapping no vertex can be assigned to a person.")
    report, text = judged_together(sources, 1 if window == "1" else window, cover, limit)
    say(report, text, as_json=as_json)
    return Exit.OK if report.safe else Exit.UNSAFE


def _attacked(sources: Sources, attacks: str, seed: int) -> AttackReport:
    """Return what attacks find, private; `attacks` are names, or all."""
    from ktsafe.assess.releases.attacks import NAMES, attack_releases

    wanted = [name.strip() for name in attacks.split(",") if name.strip()]
    with phases("attacking") as progress:
        return attack_releases(
            sources, NAMES if wanted in ([], ["all"]) else wanted, seed=seed, progress=progress
        )


def _say_attacks(found: AttackReport, *, as_json: bool) -> int:
    """Print what attacks found."""
    from ktsafe.assess.releases.attacks import attack_lines

    say(found, "\n".join(attack_lines(found)), as_json=as_json)
    return Exit.OK


def _write_page(
    sources: Sources,
    out: Path,
    attacks: AttackReport | None,
    *,
    public: bool,
    context: Path | None,
    seed: int,
    as_json: bool,
) -> int:
    """Write the report on the last release, beside all before."""
    from ktsafe.assess.report.content import content
    from ktsafe.assess.report.dossier import dossier, read_context
    from ktsafe.assess.report.page import page, public_content, public_page, told_of

    with phases("reporting") as progress:
        history = told_of(sources, attacks, seed=seed, progress=progress)
    stated = None if context is None else read_context(context)
    if public and stated is not None:
        raise ConfigError("A dossier is private.", hint="Leave --context or --public out.")
    if public:
        found = public_content(history[-1])
        text = public_page(found)
        words = "for readers of the release; publish one for a sequence, not one for each release"
    else:
        found = content(history, now())
        if stated is not None:
            found["dossier"] = dossier(stated, found)
        text, words = page(found), "private; never publish it"
    with new_file(out, is_private=not public) as file:
        file.write(text)
    say(found, f"{out}: {words}", as_json=as_json)
    return Exit.OK


def _receipt(folders: list[Path], mapping: Path | None, person: str, *, as_json: bool) -> int:
    """Print what was shown of a person."""
    if mapping is None:
        hint = "Without the mapping no vertex can be assigned to a person."
        raise ConfigError("--person needs --map.", hint=hint)
    compile_judges()
    from ktsafe.assess.releases.worth import describe_receipt, receipt

    name = sys.stdin.readline().strip() if person == "-" else person
    found = receipt(folders, mapping, name)
    say(found, describe_receipt(found), as_json=as_json)
    return Exit.OK
