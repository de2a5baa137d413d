"""Attacks on releases in files, judged by private mapping and true graphs, as one report."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.attacks import ATTACKS, SEQUENCE_ATTACKS, Case, History, Result, run, run_sequence
from ktsafe.errors import InvalidParams
from ktsafe.sequence_audit import TrueGraph
from stream.errors import ConfigError
from stream.files.graphs import read_schema
from stream.files.private_audits import read_declared, read_owners
from stream.files.releases_read import Release, read_manifest, read_release, release_folders
from stream.study.audits import Truth, case_of
from stream.study.byte_traces import byte_traces
from stream.study.sequence_report import Sources

Progress = Callable[[str, float], None]
BYTES = "bytes"
NAMES = (*ATTACKS, BYTES, *SEQUENCE_ATTACKS)


def attack_releases(
    sources: Sources,
    attacks: Iterable[str] = NAMES,
    *,
    seed: int = 0,
    progress: Progress = lambda _phase, _done: None,
) -> dict[str, Any]:
    """Attack every release, and the sequence of them, and return a JSON-ready report.

    It is private. People who have left may be blank in the mappings of past releases; their places
    are then judged as inserted ones.

    Parameters
    ----------
    sources:
        The releases, the mapping and the truth; all three are needed.
    attacks:
        Names of `ATTACKS` and `SEQUENCE_ATTACKS`, and "bytes" (`stream.study.byte_traces`). Those
        on sequences need two releases of one sequence.
    seed:
        The same releases, attacks and seed give the same report.

    Raises
    ------
    ConfigError
        If mapping or truth are missing.
    InvalidParams
        If an attack is not known.
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    if sources.mapping is None or sources.truth is None:
        raise ConfigError("Attacks are judged by the truth.", hint="Give --map and --truth.")
    wanted = list(attacks)
    if unknown := sorted(set(wanted) - set(NAMES)):
        msg = f"There is no attack {unknown[0]!r}."
        raise InvalidParams(msg, hint=f"Known: {', '.join(NAMES)}.")
    folders = release_folders(sources.releases)
    schema = None if sources.schema is None else read_schema(sources.schema)
    truth = Truth(sources.truth, schema)
    reports: list[dict[str, Any]] = []
    by_sequence: dict[str, list[tuple[Release, TrueGraph, Case]]] = {}
    for i, folder in enumerate(folders):
        release = read_release(folder)
        true = truth.of(
            read_manifest(folder), read_declared(sources.mapping, release_name(release))
        )
        owners = read_owners(sources.mapping, release_name(release))
        case = case_of(release, true, owners)
        by_sequence.setdefault(release.manifest.sequence_id, []).append((release, true, case))
        results = run(
            case,
            release.params,
            np.random.default_rng(seed),
            attacks=[name for name in wanted if name in ATTACKS],
            progress=_part(progress, release_name(release), i, len(folders)),
        )
        if BYTES in wanted:
            results += byte_traces(folder, release, case)
        reports.append(
            {"release_id": release_name(release), "results": [r.to_mapping() for r in results]}
        )
    together = [name for name in wanted if name in SEQUENCE_ATTACKS]
    return {
        "releases": reports,
        "sequences": [
            {"sequence_id": name, "releases": len(steps), "results": _together(steps, together)}
            for name, steps in by_sequence.items()
            if len(steps) > 1 and together
        ],
    }


def release_name(release: Release) -> str:
    """Return the id of a release."""
    return release.manifest.release_id


def _together(
    steps: Sequence[tuple[Release, TrueGraph, Case]], attacks: Sequence[str]
) -> list[dict[str, Any]]:
    """Attack the releases of one sequence together."""
    number: dict[Hashable, int] = {}
    persons, ids = [], []
    for _, true, _ in steps:
        persons.append(
            np.array([number.setdefault(p, len(number)) for p in true.people], dtype=np.int64)
        )
    shown: dict[str, int] = {}
    for release, _, _ in steps:
        ids.append(np.array([shown.setdefault(u, len(shown)) for u in release.ids], dtype=np.int64))
    history = History([case for _, _, case in steps], ids, persons)
    params: PrivacyParams = steps[-1][0].params
    results: list[Result] = run_sequence(history, params, attacks=attacks)
    return [result.to_mapping() for result in results]


def _part(progress: Progress, name: str, i: int, n: int) -> Progress:
    """Return a callback that reports a part of the whole."""
    return lambda attack, done: progress(f"{name}, {attack}", (i + done) / n)
