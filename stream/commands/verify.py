"""`ktsafe verify`: judge releases by their bytes alone.

Words may be changed. What is judged comes from the folder alone, never from a configuration; exit
codes for each state are in tests/stream/commands/test_exit_codes.py.
"""

from __future__ import annotations

import json
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ktsafe.connectors.base import MANIFEST
from ktsafe.errors import InvalidParams
from ktsafe.kernels import kernel_cache
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.report_texts import new_file
from ktsafe.stream.process.command_line import Json, Report, phases, say

if TYPE_CHECKING:
    from ktsafe.audit.sequence import Window
    from ktsafe.stream.release.sequence_report import SequenceReport, Sources


def verify_folders(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Release folders, or folders of release folders.", metavar="DIR..."),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together", help="Judge them together, too: against an attacker that links them."
        ),
    ] = False,
    as_json: Json = False,
    limit: Annotated[int, typer.Option(help="Unsafe vertices to explain, per release.")] = 10,
    key: Annotated[
        Path | None, typer.Option(help="The owner's public key (PEM): signatures must be by it.")
    ] = None,
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Judge withdrawn releases, too: for audits.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write a page (HTML) that does this in a browser, for readers without ktsafe."
        ),
    ] = None,
) -> int:
    """Check whether releases are kt-safe by the definition.

    The exit code is 0 only if all are. Each is judged by itself, under the parameters that its
    manifest names; with --together an auditor judges all of them against an attacker that links
    them, as far as their bytes tell; name them in order of publication. Their owner knows more:
    `ktsafe audit`.

    Manifests must name the ones before them, so a release that is missing, put in or changed
    is told; with a key they must be signed, too.
    """
    from ktsafe.stream.files.releases_read import release_folders, why_withdrawn

    if page is not None:
        text = resources.files("ktsafe.stream.files").joinpath("verify.html").read_text("utf-8")
        with new_file(page, is_private=False) as file:
            file.write(text)
    if not folders:
        if page is None:
            raise InvalidParams("Name releases to verify.", hint="ktsafe verify DIR...")
        return Exit.OK
    found = release_folders(folders)
    if kernel_cache.is_cold("verify"):
        typer.echo("ktsafe: compiling the verifier's kernels, once", err=True)
    reports = []
    with phases("verifying") as progress:
        for number, folder in enumerate(found):
            progress(folder.name, number / len(found))
            why = None if withdrawn else why_withdrawn(folder)
            if why is None:
                reports.append(_verified(folder, limit))
            else:
                reports.append(_refused(folder, why))
    _add_seals(found, reports, key)
    sound = all(report["safe"] and not report["problems"] for report in reports)
    if not as_json:
        for report in reports:
            _print(report)
    if not together:
        if as_json:
            typer.echo(json.dumps(reports, indent=2))
        return Exit.OK if sound else Exit.UNSAFE
    from ktsafe.stream.release.sequence_report import Sources

    all_of_them, text = judged_together(Sources(tuple(folders)), None, None, limit)
    say({"releases": reports, "together": all_of_them}, text, as_json=as_json)
    return Exit.OK if sound and all_of_them.safe else Exit.UNSAFE


def judged_together(
    sources: Sources, window: Window | None, cover: bool | None, limit: int
) -> tuple[SequenceReport, str]:
    """Return what the auditor says of releases together, also as text."""
    from ktsafe.stream.maintenance.cold_kernels import compile_judges

    compile_judges()
    from ktsafe.stream.release.sequence_report import audit_sequence, report_lines

    with phases("auditing") as progress:
        report = audit_sequence(sources, window, cover, limit, progress)
    return report, "\n".join(report_lines(report))


def _refused(folder: Path, why: str) -> Report:
    from ktsafe.stream.files.releases_read import read_manifest

    release_id = read_manifest(folder).release_id
    return {"folder": str(folder), "release_id": release_id, "safe": None, "withdrawn": why}


def _add_seals(folders: list[Path], reports: list[Report], key: Path | None) -> None:
    """Add to each report what each folder's chain and signature say."""
    from ktsafe.seals import check_seals, public_key
    from ktsafe.stream.files.releases_read import ReleaseUnreadable

    keys = []
    if key is not None:
        try:
            keys = [public_key(key.read_bytes())]
        except OSError as error:
            raise InvalidParams(f"{key} cannot be read ({error.strerror}).") from None
    pairs = sorted(zip(folders, reports, strict=True), key=lambda pair: pair[0].resolve())
    for _, group in groupby(pairs, key=lambda pair: pair[0].resolve().parent):
        members = list(group)
        try:
            checks = check_seals([(folder / MANIFEST).read_bytes() for folder, _ in members], keys)
        except ValueError as error:
            msg = f"A manifest in {members[0][0].parent} has an invalid seal ({error})."
            raise ReleaseUnreadable(msg, hint="Fetch the releases again.") from error
        for check, (_, report) in zip(checks, members, strict=True):
            report["signature"] = check.signature
            report["published_before"] = check.size
            report["problems"] = list(check.problems)


def _verified(folder: Path, limit: int) -> Report:
    from ktsafe.stream.files.certificates import verified
    from ktsafe.stream.files.releases_read import read_release

    release = read_release(folder)
    verdict, seal = verified(release), release.manifest.seal
    # None: nothing is stated, or it was found by other evidence than is at hand.
    stated = None
    if seal is not None and seal.verdict.evidence == "definition":
        stated = seal.verdict.sha256 == verdict.digest(release.ids)
    return {
        "folder": str(folder),
        "release_id": release.manifest.release_id,
        "safe": verdict.is_safe and stated is not False,
        "as_stated": stated,
        "params": release.manifest.params,
        "vertices": verdict.n_vertices,
        "edges": len(release.edges),
        "unsafe_vertices": verdict.n_unsafe,
        "candidates_min": verdict.min_k,
        "sensitive_share_max": None if verdict.max_alpha is None else str(verdict.max_alpha),
        "failures": [
            {
                "id": release.ids[failure.vertex],
                "candidates": failure.ps_size,
                "sensitive_candidates": failure.ps_sensitive,
                "reasons": list(failure.reasons),
                "explanation": failure.explanation.partition(": ")[2],
            }
            for failure in verdict.failures(limit)
        ],
    }


_ASKED: Final = ("k", "t", "alpha", "epsilon", "n_hops", "reading")


def _print(report: Report) -> None:
    _print_verdict(report)
    words = report["signature"]
    if report["published_before"] is None:
        words += ", in no chain (as single releases and those of older versions)"
    else:
        words += f", {report['published_before']} releases before it"
    typer.echo(f"  signature: {words}")
    for problem in report["problems"]:
        typer.echo(f"  NOT as published: {problem}")


def _print_verdict(report: Report) -> None:
    if report["safe"] is None:
        typer.echo(f"{report['release_id']}: withdrawn: {report['withdrawn']}")
        typer.echo("  not judged; delete it. Audits judge it with --withdrawn")
        return
    word = "kt-safe" if report["safe"] else "NOT kt-safe"
    # The manifest chooses them: "kt-safe" at k = 1 says nothing.
    asked = ", ".join(f"{name} = {report['params'][name]}" for name in _ASKED)
    typer.echo(
        f"{report['release_id']}: {word} ({asked}); "
        f"{report['vertices']} vertices, {report['edges']} edges, "
        f"fewest candidates {report['candidates_min'] or 'none'}, "
        f"greatest sensitive share {report['sensitive_share_max'] or 'none'}"
    )
    if report["as_stated"] is False:
        typer.echo("  the manifest states another verdict")
    for failure in report["failures"]:
        typer.echo(f"  vertex {failure['id']}: {failure['explanation']}")
    more = report["unsafe_vertices"] - len(report["failures"])
    if more > 0:
        typer.echo(f"  and {more} more unsafe vertices (--limit shows them)")
