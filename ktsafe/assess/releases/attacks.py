"""Attacks on releases in folders, and on the order of their records.

The attacker reads the files as they lie, and knows how the service writes them.

Checks of form may be added: tests/ktsafe/assess/releases/test_record_order_attack.py writes a
release carelessly in every way. `NAMES` are words of `ktsafe audit --attacks`, one row each in
docs/attacks.md.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks import (
    ATTACKS,
    SEQUENCE_ATTACKS,
    Case,
    History,
    Result,
    run,
    run_sequence,
)
from ktsafe.assess.attacks.common.result import auc_result, share_result
from ktsafe.assess.attacks.membership import OF_PEOPLE as MEMBERSHIP
from ktsafe.assess.attacks.suite import GROUP
from ktsafe.assess.generalization.quick_release import membership
from ktsafe.assess.utility import results_told
from ktsafe.connectors.base import WITHDRAWN
from ktsafe.errors import InvalidParams
from ktsafe.params import offered
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.audit_model import AttackResult
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.files.private_audits import read_declared, read_owners, read_vacated
from ktsafe.stream.files.release_tables import EDGES_PARQUET, VERTICES_PARQUET
from ktsafe.stream.files.releases_read import Release, read_release, release_folders
from ktsafe.stream.files.report_texts import text_of
from ktsafe.stream.release.audits import Truth, traced_of
from ktsafe.stream.release.sequence_report import Sources

MANIFEST: Final = "manifest.json"
VERTICES: Final = "vertices.csv"
EDGES: Final = "edges.csv"
ID: Final = re.compile(r"[0-9a-f]{16}")
LOW: Final = 1 << 16


def record_order_attack(folder: Path, release: Release, case: Case) -> list[Result]:
    """Return what the bytes of a release tell beside its content.

    Parameters
    ----------
    folder:
        The release.
    release, case:
        The same as read, and with its truth; vertices in the order of the file.

    Returns
    -------
    list of Result
        AUC of people above inserted vertices by the number of their row (`bytes.rows`), by their id
        as a number (`bytes.ids`) and by its low bits (`bytes.low_bits`), and of true above inserted
        ties by their row (`bytes.tie_rows`); one half tells nothing, above or below.
        `bytes.traces`: of the checks of `_checks`, the share that fails; its promise is none at
        all. `figures` has a 1 for each that fails.
    """
    is_real = case.original_of >= 0
    numbers = [int(name, 16) if ID.fullmatch(name) else 0 for name in release.ids]
    low = np.array([number % LOW for number in numbers], dtype=np.float64)
    results = [
        auc_result("bytes.rows", np.arange(len(is_real), dtype=np.float64), is_real),
        auc_result("bytes.ids", np.array(numbers, dtype=np.float64), is_real),
        auc_result("bytes.low_bits", low, is_real),
        auc_result("bytes.tie_rows", _rows_of_ties(folder, release, case), case.is_true_edge),
    ]
    checks = dict(_checks(folder, release))
    failed = np.array([not passed for passed in checks.values()], dtype=np.float64)
    traces = {name: 1.0 for name, passed in checks.items() if not passed}
    results.append(share_result("bytes.traces", failed, control=0.0, promise=0.0, figures=traces))
    return results


def _rows_of_ties(folder: Path, release: Release, case: Case) -> NDArray[np.float64]:
    """Return the row in the file of each of `case.released.edges`."""
    place = {name: v for v, name in enumerate(release.ids)}
    rows = np.array(
        [sorted((place[a], place[b])) for a, b in _cells(folder / EDGES)[1:]], dtype=np.int64
    ).reshape(-1, 2)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    edges = case.released.edges
    row_of = np.empty(len(rows))
    row_of[np.lexsort((edges[:, 1], edges[:, 0]))] = order
    return row_of


def _checks(folder: Path, release: Release) -> Iterator[tuple[str, bool]]:
    """Yield each file's required form, with nothing but its table."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    ties = [tuple(row) for row in _cells(folder / EDGES)[1:]]
    # A withdrawal is told later, and tells its own time.
    files = [path for path in folder.iterdir() if path.name != WITHDRAWN]
    names = {path.name for path in files}
    nominal = manifest["nominal_time"]
    yield "only the files of the manifest", names == {MANIFEST, *manifest["sha256"]}
    yield "ids of 64 bits", all(ID.fullmatch(name) for name in release.ids)
    yield "vertices sorted by id", release.ids == sorted(release.ids)
    yield "ties sorted, smaller end first", ties == sorted(ties) and all(a < b for a, b in ties)
    times = {path.stat().st_mtime for path in files}
    yield "times of files are the slot", nominal is None or times == {_seconds(nominal)}
    for name in (VERTICES, EDGES):
        raw = (folder / name).read_bytes()
        yield f"{name} is plain", b"\r" not in raw and not raw.startswith(b"\xef\xbb\xbf")
    for name, table in ((VERTICES_PARQUET, VERTICES), (EDGES_PARQUET, EDGES)):
        if name in names:
            yield f"{name} says the same and no more", _is_bare(folder / name, folder / table)


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment).timestamp()


def _is_bare(path: Path, table: Path) -> bool:
    """Whether a Parquet file holds a table's rows alone, in order."""
    from pyarrow import parquet  # noqa: PLC0415 -- optional, and there if the file is

    file: Any = parquet.ParquetFile(path)
    about = file.metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(about.num_columns)]
    header, *rows = _cells(table)
    found = [list(row.values()) for row in file.read().to_pylist()]
    return (
        not about.metadata
        and {chunk.compression for chunk in chunks} <= {"UNCOMPRESSED"}
        and len(groups) <= 1
        and file.schema_arrow.names == header
        and found == rows
    )


def _cells(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, its header first."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


# Attacks on releases in files, judged by private mapping and true graphs, as one report.

Progress = Callable[[str, float], None]
BYTES = "bytes"
NAMES = (*ATTACKS, BYTES, *SEQUENCE_ATTACKS)


class ReleaseAttacks(msgspec.Struct, frozen=True):
    """What attacks on one release found."""

    release_id: str
    results: list[AttackResult]


class SequenceAttacks(msgspec.Struct, frozen=True):
    """What attacks on the releases of one sequence together found."""

    sequence_id: str
    releases: int
    results: list[AttackResult]


class AttackReport(msgspec.Struct, frozen=True):
    """What attacks found; it is private."""

    releases: list[ReleaseAttacks]
    sequences: list[SequenceAttacks]


class Judged(NamedTuple):
    """Release with its attack case, true people, and places left."""

    release: Release
    case: Case
    people: Sequence[Hashable]
    vacated: Sequence[str] = ()


def attack_releases(
    sources: Sources,
    attacks: Iterable[str] = NAMES,
    *,
    seed: int = 0,
    progress: Progress = lambda _phase, _done: None,
) -> AttackReport:
    """Attack every release, and the sequence of them, and return a report.

    It is private. Departed people may be blank in the mappings of past releases; their places
    are then judged as inserted vertices. Only `departure` knows them, since the private audits
    list the places that were left.

    Parameters
    ----------
    sources:
        The releases, the mapping and the truth; all three are needed.
    attacks:
        Names of `ATTACKS` and `SEQUENCE_ATTACKS`, of attacks that installed packages offer, and
        "bytes" (`ktsafe.assess.releases.attacks`). Those on sequences need two
        releases of one sequence. Who is a member is asked of a release that is made for it
        (`ktsafe.assess.generalization.quick_release.membership`).
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
    if unknown := sorted(set(wanted) - {*NAMES, *offered(GROUP)}):
        msg = f"There is no attack {unknown[0]!r}."
        raise InvalidParams(msg, hint=f"Known: {', '.join([*NAMES, *offered(GROUP)])}.")
    apart = {*SEQUENCE_ATTACKS, BYTES, MEMBERSHIP}
    folders = release_folders(sources.releases)
    truth = Truth(sources.truth, None if sources.schema is None else read_schema(sources.schema))
    reports: list[ReleaseAttacks] = []
    sequences: dict[str, list[Judged]] = {}
    for i, folder in enumerate(folders):
        one = judged(folder, sources.mapping, truth)
        name = one.release.manifest.release_id
        sequences.setdefault(one.release.manifest.sequence_id, []).append(one)
        results = run(
            one.case,
            one.release.params,
            np.random.default_rng(seed),
            attacks=[name for name in wanted if name not in apart],
            progress=_part(progress, name, i, len(folders)),
        )
        if MEMBERSHIP in wanted:
            results += membership(one.case.original, one.release.params, seed=seed)
        if BYTES in wanted:
            results += record_order_attack(folder, one.release, one.case)
        reports.append(ReleaseAttacks(name, results_told(results)))
    together = [name for name in wanted if name in SEQUENCE_ATTACKS]
    found = [
        SequenceAttacks(name, len(steps), _together(steps, together, seed))
        for name, steps in sequences.items()
        if len(steps) > 1 and together
    ]
    return AttackReport(reports, found)


def judged(folder: Path, mapping: Path, truth: Truth) -> Judged:
    """Return a release with what judges guesses.

    Raises
    ------
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    release = read_release(folder)
    name = release.manifest.release_id
    true = truth.of(release.manifest, read_declared(mapping, name))
    traced = traced_of(release, true, read_owners(mapping, name))
    case = Case(traced.original, traced.released, traced.behind)
    return Judged(release, case, list(true.people), read_vacated(mapping, name))


def history_of(steps: Sequence[Judged]) -> History:
    """Return a sequence's releases as linked attacks take it."""
    number: dict[Hashable, int] = {}
    shown: dict[str, int] = {}
    return History(
        [step.case for step in steps],
        [_numbered(step.release.ids, shown) for step in steps],
        [_numbered(step.people, number) for step in steps],
        [_numbered((x for x in step.vacated if x in shown), shown) for step in steps],
    )


def _numbered(names: Iterable[Any], known: dict[Any, int]) -> NDArray[np.int64]:
    """Return a number for each name, the next one if new."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _together(steps: Sequence[Judged], attacks: Sequence[str], seed: int) -> list[AttackResult]:
    """Attack the releases of one sequence together."""
    rng = np.random.default_rng(seed)
    results = run_sequence(history_of(steps), steps[-1].release.params, rng, attacks=attacks)
    return results_told(results)


def _part(progress: Progress, name: str, i: int, n: int) -> Progress:
    """Return a callback that reports a part of the whole."""
    return lambda attack, done: progress(f"{name}, {attack}", (i + done) / n)


def attack_lines(report: AttackReport) -> Iterator[str]:
    """Yield a table of attacks for each release and sequence."""
    for release in report.releases:
        if release.results:
            yield from _table(f"release {release.release_id}", release.results)
    for part in report.sequences:
        yield from _table(f"sequence {part.sequence_id}, {part.releases} releases", part.results)


def _table(title: str, results: list[AttackResult]) -> Iterator[str]:
    yield title
    width = max(len(result.attack) for result in results)
    yield f"  {'attack':{width}}  {'of':>7}  figure (95%)         baseline  without    bound"
    for result in results:
        targets = f"  {result.attack:{width}}  {result.targets:>7}"
        if not result.targets:
            yield f"{targets}  nobody"
            continue
        low, high = result.interval
        word = "auc  " if result.measure == "auc" else "share"
        bound = text_of(result.promise, ".3f", "none")
        without = text_of(result.without_target, ".3f", "-")
        mark = " !" if result.is_broken else ""
        figures = result.figures
        if "alpha" in figures:
            mark = f" (alpha {figures['alpha']:.3f})"
        if "true_2" in figures:
            mark = "; in classes of 2, of k: " + ", ".join(
                f"{word} {figures[f'{of}_2']:.3f} {figures[f'{of}_k']:.3f}"
                for of, word in (("true", "truth"), ("shown", "release"))
            )
        yield (
            f"{targets}  {word} {result.value:.3f} ({low:.3f}-{high:.3f})  "
            f"{result.control:8.3f}  {without:>7}  {bound:>7}{mark}"
        )
