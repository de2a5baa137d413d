"""Reads a report's sources: manifests, private audits, optionally the true graph.

What is missing stays missing or is measured by the truth, never guessed; an audit or a truth of
another release is refused (tests/ktsafe/assess/commands/test_report.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import compress
from pathlib import Path

from msgspec.structs import replace

from ktsafe.assess.releases.attacks import AttackReport
from ktsafe.assess.report.content import ReleaseWithFigures
from ktsafe.assess.utility import measured
from ktsafe.audit.release_audit import Size
from ktsafe.errors import InvalidGraph
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.audit_model import AttackResult, Attacks, Audit
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.files.private_audits import place_of, read_audit, read_declared, read_owners
from ktsafe.stream.files.releases_read import (
    Manifest,
    manifest_sha256,
    read_manifest,
    read_release,
    release_folders,
    why_withdrawn,
)
from ktsafe.stream.files.releases_write import AUDIT
from ktsafe.stream.release.audits import Truth, traced_of
from ktsafe.stream.release.sequence_report import Sources

Progress = Callable[[str, float], None]


def told_of(
    sources: Sources,
    attacks: AttackReport | None = None,
    *,
    seed: int = 0,
    progress: Progress = lambda _phase, _done: None,
) -> list[ReleaseWithFigures]:
    """Return the last sequence's releases, in order.

    Parameters
    ----------
    sources:
        The releases and the private audits; with the truth, what the audit of the last release
        does not tell is measured.
    attacks:
        What `ktsafe.assess.releases.attacks.attack_releases` found of these releases; taken
        instead of what audits tell.
    seed:
        The same files and seed give the same figures.

    Raises
    ------
    ConfigError
        If there are no releases, or no private audits.
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    if sources.mapping is None:
        raise ConfigError("A report is made of private audits.", hint="Name them with --map.")
    folders = release_folders(sources.releases)
    if not folders:
        raise ConfigError("There is no release to report of.")
    manifests = [read_manifest(folder) for folder in folders]
    is_kept = [m.sequence_id == manifests[-1].sequence_id for m in manifests]
    kept = list(compress(manifests, is_kept))
    audits = [
        replace(_figures(sources.mapping, manifest), withdrawn=why_withdrawn(folder))
        for manifest, folder in zip(kept, compress(folders, is_kept), strict=True)
    ]
    if attacks is not None:
        audits[-1] = replace(audits[-1], attacks=Attacks(_attacks(attacks, kept[-1]), []))
    if sources.truth is not None:
        audits[-1] = _measured(sources, folders[-1], audits[-1], seed, progress)
    told = list(map(ReleaseWithFigures, kept, audits))
    return [*told[:-1], dataclasses.replace(told[-1], sha256=manifest_sha256(folders[-1]))]


def _figures(folder: Path, manifest: Manifest) -> Audit:
    """Return the private audit of a release, if it is the one."""
    path = place_of(folder, manifest.release_id, AUDIT) / AUDIT
    found = read_audit(path)
    if found.size.released != Size(manifest.vertices, manifest.edges):
        msg = f"{path} is not the audit of {manifest.release_id}: their sizes differ."
        raise InvalidGraph(msg, hint="Name the folder that was written with the release.")
    return found


def _attacks(report: AttackReport, manifest: Manifest) -> list[AttackResult]:
    """Return the results of attacks on a release and on its sequence."""
    parts = [p.results for p in report.releases if p.release_id == manifest.release_id]
    parts += [p.results for p in report.sequences if p.sequence_id == manifest.sequence_id]
    return [result for part in parts for result in part]


def _measured(sources: Sources, folder: Path, audit: Audit, seed: int, progress: Progress) -> Audit:
    assert sources.mapping is not None
    assert sources.truth is not None
    progress("reading the truth", 0.0)
    release = read_release(folder)
    name = release.manifest.release_id
    schema = None if sources.schema is None else read_schema(sources.schema)
    true = Truth(sources.truth, schema).of(release.manifest, read_declared(sources.mapping, name))
    traced = traced_of(release, true, read_owners(sources.mapping, name))
    if Size.of(traced.original) != audit.size.original:
        msg = f"The true graph is not the one behind {name}: their sizes differ."
        raise InvalidGraph(msg, hint="Give the graph of the release's nominal time.")
    return measured(
        audit,
        traced.original,
        traced.released,
        traced.behind,
        release.params,
        seed=seed,
        progress=progress,
    )
