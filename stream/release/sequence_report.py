"""The audit of a whole history in files, as one report.

Words and layout of `report_lines` may be changed. The structs are the JSON of `ktsafe audit` and
`verify --together`: add fields, rename none. Judging is done by `ktsafe.audit.sequence`, never
here.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from ktsafe import PrivacyParams
from ktsafe.audit import Usefulness, usefulness
from ktsafe.audit.sequence import (
    KINDS,
    AuditedRelease,
    Findings,
    Promise,
    SequenceAuditor,
    TrueGraph,
    Violation,
    Window,
)
from ktsafe.audit.sequence.figures import (
    Candidates,
    ContainmentFigures,
    ObjectCounts,
    Persistence,
    Published,
    Shares,
)
from ktsafe.audit.sequence.windows import SequenceAudit
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.files.private_audits import (
    read_declared,
    read_owners,
    read_vacated,
    read_value_places,
)
from ktsafe.stream.files.release_figures import over_time_in_words, worth_in_words, worth_of
from ktsafe.stream.files.releases_read import (
    Manifest,
    Release,
    read_manifest,
    read_release,
    release_folders,
)
from ktsafe.stream.files.report_texts import text_of
from ktsafe.stream.release.audits import Truth, audited, nominal_time, promise_of, traced_of

STEPS = {
    True: "a certificate by cohorts, for any set of releases",
    False: "no certificate, which counts as unsafe",
    UNSET: "the strict verifier, each release by itself",
}
"""How a sequence was decided, by whether it is certified."""


@dataclasses.dataclass(frozen=True)
class Sources:
    """Where a history lies.

    Attributes
    ----------
    releases:
        Release folders, or folders of them, in order.
    mapping, truth:
        Private folders, see `ktsafe.stream.release.audits`.
    schema:
        The schema file, if the true values are not as published.
    """

    releases: Sequence[Path]
    mapping: Path | None = None
    truth: Path | None = None
    schema: Path | None = None


class PublishedOverAll(Published, frozen=True):
    """Candidates over all releases, and their greatest sensitive share at any release."""

    sensitive_share: Shares


class LinkedOverAll(Candidates, frozen=True):
    """The same for an attacker that follows people over several ids."""

    sensitive_share: Shares


class ChangesOverAll(msgspec.Struct, frozen=True):
    """All visible changes, by the candidates that all releases leave."""

    visible: int
    below_k: int
    k_delta_min: int | None
    alpha_alike: Shares


class ReleaseFindings(SequenceAudit, frozen=True, kw_only=True):
    """Findings at one release, and its overlap with the truth."""

    usefulness: Usefulness | UnsetType = UNSET


class OneSequence(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one sequence of the history."""

    sequence_id: str
    releases: int
    decided_by: str
    published: PublishedOverAll
    linked: LinkedOverAll | UnsetType = UNSET
    changes: ChangesOverAll
    values: ObjectCounts
    persistence: Persistence | UnsetType = UNSET
    containment: ContainmentFigures | UnsetType = UNSET
    by_release: list[ReleaseFindings]


class ViolationsOfKind(msgspec.Struct, frozen=True):
    """Releases with a kind of violation, and the first in full."""

    kind: str
    meaning: str
    releases: list[str]
    first: Violation


class SequenceReport(msgspec.Struct, frozen=True):
    """The audit of a history. It is private."""

    safe: bool
    releases: int
    promise: Promise
    sequences: list[OneSequence]
    violations: list[ViolationsOfKind]
    not_checked: list[str]


def audit_sequence(
    sources: Sources,
    window: Window | None = None,
    cover: bool | None = None,
    limit: int = 10,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> SequenceReport:
    """Audit a history and return a report. It is private.

    Parameters
    ----------
    window, cover:
        What to hold the history to; None: what its manifests promise, the most of it.
    limit:
        Published ids named per violation.

    Raises
    ------
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    folders = release_folders(sources.releases)
    manifests = [read_manifest(folder) for folder in folders]
    promise = _promise(manifests, window, cover)
    schema = None if sources.schema is None else read_schema(sources.schema)
    truth = None if sources.truth is None else Truth(sources.truth, schema)
    left_since = [] if truth is None else truth.left_since(manifests)
    promised = {manifest.sequence_id: manifest.promised for manifest in manifests}
    auditor = SequenceAuditor(promise, examples_max=limit)
    parts: list[_Part] = []
    violations = _order_violations(manifests)
    for i, (folder, manifest) in enumerate(zip(folders, manifests, strict=True)):
        progress(manifest.release_id, i / len(folders))
        if not parts or parts[-1].sequence_id != manifest.sequence_id:
            if parts:
                parts[-1].close(auditor)
            parts.append(_Part(manifest.sequence_id))
        left = left_since[i] if left_since else frozenset()
        stated = promised[manifest.sequence_id]
        release, true, found = _read(folder, sources.mapping, truth, left, stated)
        findings = auditor.extend(release, true)
        parts[-1].add(findings, found)
        violations.extend(findings.violations)
    if parts:
        parts[-1].close(auditor)
    told, missing = [part.told() for part in parts], _not_checked(sources)
    kinds = _by_kind(violations)
    return SequenceReport(not violations, len(folders), promise, told, kinds, missing)


def _read(
    folder: Path,
    mapping: Path | None,
    truth: Truth | None,
    left_since: frozenset[str],
    promised: PrivacyParams,
) -> tuple[AuditedRelease, TrueGraph | None, Usefulness | None]:
    """Return a release for the auditor, its truth, and their overlap."""
    release = read_release(folder)
    if mapping is None:
        return audited(release, promised=promised), None, None
    name = release.manifest.release_id
    owners, declared = read_owners(mapping, name), read_declared(mapping, name)
    vacated, places = read_vacated(mapping, name), read_value_places(mapping, release)
    taken = audited(release, owners, vacated, places, promised)
    if truth is None:
        return taken, None, None
    true = truth.of(release.manifest, declared, left_since)
    return taken, true, _usefulness(release, true, owners)


class _Part:
    """The figures of one sequence of the history."""

    def __init__(self, sequence_id: str) -> None:
        self.sequence_id = sequence_id
        self._findings: list[Findings] = []
        self._usefulness: list[Usefulness | None] = []
        self._shares: dict[str, Shares] = {}

    def add(self, findings: Findings, found: Usefulness | None) -> None:
        self._findings.append(findings)
        self._usefulness.append(found)

    def close(self, auditor: SequenceAuditor) -> None:
        """Measure costly figures once, after the sequence's last release."""
        self._shares = auditor.shares()

    def told(self) -> OneSequence:
        last = self._findings[-1].figures
        linked: LinkedOverAll | UnsetType = UNSET
        if last.linked:
            linked = LinkedOverAll(**asdict(last.linked), sensitive_share=self._shares["linked"])
        checked = [findings.checked for findings in self._findings]
        steps = {each.certificate for each in checked}
        steps |= {each.linked_certificate for each in checked} - {UNSET}
        return OneSequence(
            sequence_id=self.sequence_id,
            releases=len(self._findings),
            decided_by="; ".join(STEPS[step] for step in STEPS if step in steps),
            published=PublishedOverAll(
                **asdict(last.published), sensitive_share=self._shares["published"]
            ),
            linked=linked,
            changes=self._changes(),
            values=last.values.k_value_all,
            persistence=last.persistence,
            containment=last.containment,
            by_release=[
                ReleaseFindings(**asdict(findings.told()), usefulness=found or UNSET)
                for findings, found in zip(self._findings, self._usefulness, strict=True)
            ],
        )

    def _changes(self) -> ChangesOverAll:
        last = self._findings[-1].figures.changes
        return ChangesOverAll(
            visible=last.k_delta_all.vertices,
            below_k=last.k_delta_all.below_k,
            k_delta_min=last.k_delta_all.min,
            alpha_alike=last.alpha_alike,
        )


def _usefulness(
    release: Release, true: TrueGraph, owners: Mapping[str, Hashable | None]
) -> Usefulness:
    """Return what a release shares with the truth.

    The mappings of past releases no longer name departed people: their places count as inserted,
    their ties as hidden.
    """
    return usefulness(traced_of(release, true, owners))


def _promise(manifests: Sequence[Manifest], window: Window | None, cover: bool | None) -> Promise:
    """Return the window asked for, or the most any manifest promises."""
    promised = [promise_of(manifest) for manifest in manifests]
    widest: Window = "all" if "all" in [promise.window for promise in promised] else 1
    return Promise(
        widest if window is None else window,
        any(promise.cover for promise in promised) if cover is None else cover,
    )


def _order_violations(manifests: Sequence[Manifest]) -> list[Violation]:
    """Check what only manifests tell: their times, and what they promise."""
    found = []
    for before, after in itertools.pairwise(manifests):
        first, second = nominal_time(before), nominal_time(after)
        if first is not None and second is not None and first >= second:
            found.append(Violation.of("time_order", after.release_id))
        if before.sequence_id == after.sequence_id and promise_of(before) != promise_of(after):
            found.append(Violation.of("guarantee_changed", after.release_id))
    return found


def _by_kind(violations: Iterable[Violation]) -> list[ViolationsOfKind]:
    """Group violations; the first release of each kind is told in full."""
    kinds: dict[str, list[Violation]] = {}
    for violation in violations:
        kinds.setdefault(violation.kind, []).append(violation)
    return [
        ViolationsOfKind(kind, KINDS[kind], [each.release_id for each in found], found[0])
        for kind in KINDS
        if (found := kinds.get(kind))
    ]


def _not_checked(sources: Sources) -> list[str]:
    """Say what could not be judged for want of private files."""
    missing = []
    if sources.mapping is None:
        missing.append("real people, and people over several sequences (no --map)")
    if sources.truth is None:
        missing.append("whether the truth is in the releases, and how long ties last (no --truth)")
    return missing


# Reports on releases together, as lines of text.


def report_lines(report: SequenceReport) -> Iterator[str]:
    """Yield the lines of a report on releases together (`sequence_report.audit_sequence`)."""
    word = "safe" if report.safe else "NOT safe"
    yield (
        f"{_several(report.releases, 'release')} in "
        f"{_several(len(report.sequences), 'sequence')}: {word} "
        f"(w = {report.promise.window}, cover {'on' if report.promise.cover else 'off'})"
    )
    for sequence in report.sequences:
        yield from _sequence_lines(sequence)
    for kind in report.violations:
        yield from _violation_lines(kind)
    for line in report.not_checked:
        yield f"not checked: {line}"


def _sequence_lines(sequence: OneSequence) -> Iterator[str]:
    yield f"sequence {sequence.sequence_id}, {_several(sequence.releases, 'release')}"
    yield from _candidate_lines(sequence.published)
    if sequence.linked:
        yield "  for an attacker that follows people over rebirths and earlier sequences:"
        yield from _candidate_lines(sequence.linked)
    yield from _changes_lines(sequence.changes)
    if persistence := sequence.persistence:
        yield (
            "  true against inserted ties, 0.5 tells nothing: age "
            f"{text_of(persistence.age_auc, '.3f', 'unknown')}, survival "
            f"{text_of(persistence.survival_auc, '.3f', 'unknown')}"
        )
    if lacks := sequence.containment:
        yield (
            f"  held back: {lacks.withheld_people} people for at most "
            f"{lacks.withheld_releases_max} releases, {lacks.missing_ties} ties "
            f"for at most {lacks.missing_releases_max}, {lacks.held_changes} changes"
        )
    yield from _usefulness_lines([row.usefulness for row in sequence.by_release if row.usefulness])
    yield f"  decided by: {sequence.decided_by}"


def _candidate_lines(figures: PublishedOverAll | LinkedOverAll) -> Iterator[str]:
    for found, words in (
        (figures.candidates, "candidates over all releases"),
        (figures.candidates_real_leavers_known, "  people among them, without those who left"),
    ):
        if found.min is not None:  # Else nobody is known.
            yield f"  {words}: {_counts(found)}"
    share = figures.sensitive_share
    yield (
        f"  sensitive share of them: most {text_of(share.max, '', 'none')}, "
        f"median {text_of(share.median, '', 'none')}, {share.above_alpha} above alpha"
    )


def _changes_lines(changes: ChangesOverAll) -> Iterator[str]:
    """Yield visible changes, and the candidates that changed alike."""
    yield f"  visible changes: {changes.visible}"
    if changes.k_delta_min is not None:
        alike = changes.alpha_alike
        yield (
            f"    fewest candidates that changed alike {changes.k_delta_min}, "
            f"{changes.below_k} below k; sensitive share of them: most "
            f"{text_of(alike.max, '', 'none')}, {alike.above_alpha} above alpha"
        )


def _usefulness_lines(rows: list[Usefulness]) -> Iterator[str]:
    """Yield the last release's overlap with truth, mean and worst."""
    if not rows:
        return
    worths = [worth_of(row) for row in rows]
    yield f"  last release: {worth_in_words(worths[-1]) or 'no edges, true or released'}"
    dear = sum(row.costs_more_than_nothing for row in rows)
    mean = over_time_in_words(worths)
    yield f"  {mean + '; ' if mean else ''}{_several(dear, 'release')} dearer than nothing"


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _counts(figures: ObjectCounts) -> str:
    return (
        f"fewest {figures.min}, 1% at most {figures.p1}, 5% at most {figures.p5}, "
        f"median {figures.median}; {figures.below_k} of {figures.vertices} below k"
    )


def _violation_lines(kind: ViolationsOfKind) -> Iterator[str]:
    """Yield a violation's releases and some vertices, by published id."""
    first = kind.first
    more = len(kind.releases) - 1
    where = first.release_id + (f" and {_several(more, 'more release')}" if more else "")
    yield f"VIOLATION {kind.kind} in {where}"
    if not first.examples:
        yield f"  {first.count}: {kind.meaning}"
    for name in first.examples:
        yield f"  vertex {name} {kind.meaning}"
    if first.examples and (rest := first.count - len(first.examples)) > 0:
        yield f"  and {rest} more vertices in that release (--limit shows them)"
