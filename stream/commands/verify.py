"""`ktsafe verify`: judge releases by their bytes alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ktsafe.compiled_kernels import kernel_cache
from ktsafe.errors import InvalidParams
from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Json
from ktsafe.stream.watching.progress import phases


def verify_folders(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Release folders, or folders of release folders.", metavar="DIR..."),
    ],
    as_json: Json = False,
    limit: Annotated[int, typer.Option(help="Unsafe vertices to explain, per release.")] = 10,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Private certificate.csv of one aligned release: verifies it at once."),
    ] = None,
) -> int:
    """Check whether releases are kt-safe by the definition; the exit code is 0 only if all are.

    Each is judged by itself, under the parameters that its manifest names. Whether they are safe
    together `ktsafe audit` says.

    Beyond one hop, and for the induced reading, this compares whole neighbourhoods, which can
    take long on dense releases. A pair that is not decided counts against the release.
    """
    from ktsafe.stream.files.releases_read import release_folders

    found = release_folders(folders)
    if certificate is not None and len(found) != 1:
        msg = "A certificate belongs to one release."
        raise InvalidParams(msg, hint="Name that release alone.")
    if kernel_cache.is_cold("verify"):
        typer.echo("ktsafe: compiling the verifier's kernels, once", err=True)
    reports = []
    with phases("verifying") as progress:
        for number, folder in enumerate(found):
            progress(folder.name, number / len(found))
            reports.append(_verified(folder, limit, certificate))
    if as_json:
        typer.echo(json.dumps(reports, indent=2))
    else:
        for report in reports:
            _print(report)
    return Exit.OK if all(report["safe"] for report in reports) else Exit.UNSAFE


def _verified(folder: Path, limit: int, certificate: Path | None) -> dict[str, Any]:
    from ktsafe.stream.files.certificates import read_certificate, verified
    from ktsafe.stream.files.releases_read import read_release

    release = read_release(folder)
    verdict = verified(
        release, None if certificate is None else read_certificate(certificate, release.ids)
    )
    return {
        "folder": str(folder),
        "release_id": release.manifest.release_id,
        "safe": verdict.is_safe,
        "params": release.manifest.params,
        "vertices": verdict.n_vertices,
        "edges": len(release.edges),
        "evidence": verdict.evidence,
        "undecided_pairs": verdict.undecided_pairs,
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


def _print(report: dict[str, Any]) -> None:
    word = "kt-safe" if report["safe"] else "NOT kt-safe"
    # The manifest chooses them: "kt-safe" at k = 1 says nothing.
    asked = ", ".join(f"{name} = {report['params'][name]}" for name in _ASKED)
    typer.echo(
        f"{report['release_id']}: {word} ({asked}); "
        f"{report['vertices']} vertices, {report['edges']} edges, "
        f"fewest candidates {report['candidates_min'] or 'none'}, "
        f"greatest sensitive share {report['sensitive_share_max'] or 'none'}"
    )
    if report["undecided_pairs"]:
        typer.echo(
            f"  {report['undecided_pairs']} pairs of neighbourhoods were not decided and count "
            "against the release; --certificate decides aligned ones"
        )
    for failure in report["failures"]:
        typer.echo(f"  vertex {failure['id']}: {failure['explanation']}")
    more = report["unsafe_vertices"] - len(report["failures"])
    if more > 0:
        typer.echo(f"  and {more} more unsafe vertices (--limit shows them)")
