"""The audit of a whole history in files, as one report."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ktsafe import PrivacyParams
from ktsafe.audit import Usefulness, usefulness
from ktsafe.audit.model import Audit
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
from ktsafe.stream.files.freshness_figures import over_time_in_words
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.files.private_audits import (
    read_declared,
    read_owners,
    read_vacated,
    read_value_places,
)
from ktsafe.stream.files.release_figures import worth_in_words, worth_of
from ktsafe.stream.files.releases_read import (
    Manifest,
    Release,
    read_manifest,
    read_release,
    release_folders,
)
from ktsafe.stream.formatting import text_of
from ktsafe.stream.release.audits import Truth, audited, nominal_time, promise_of, traced_of

STEPS = {
    "certificate": "a certificate by cohorts, for any set of releases",
    "bound": "exact bounds, for any set of releases",
    "each release by itself": "the strict verifier, each release by itself",
}


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


def audit_sequence(
    sources: Sources,
    window: Window | None = None,
    cover: bool | None = None,
    limit: int = 10,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> dict[str, Any]:
    """Audit a history and return a JSON-ready report. It is private.

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
    return {
        "safe": not violations,
        "releases": len(folders),
        "promise": {"window": promise.window, "cover": promise.cover},
        "sequences": [part.to_mapping() for part in parts],
        "violations": _by_kind(violations),
        "not_checked": _not_checked(sources),
    }


def _read(
    folder: Path,
    mapping: Path | None,
    truth: Truth | None,
    left_since: frozenset[str],
    promised: PrivacyParams,
) -> tuple[AuditedRelease, TrueGraph | None, Usefulness | None]:
    """Return a release as the auditor takes it, the truth behind it, and what they share."""
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
        self._shares: dict[str, Any] = {}

    def add(self, findings: Findings, found: Usefulness | None) -> None:
        self._findings.append(findings)
        self._usefulness.append(found)

    def close(self, auditor: SequenceAuditor) -> None:
        """Take what is costly to know once, after the sequence's last release."""
        self._shares = auditor.shares()

    def to_mapping(self) -> dict[str, Any]:
        last = self._findings[-1]
        views = {
            name: {**last.figures[name], "sensitive_share": self._shares[name]}
            for name in ("published", "linked")
            if name in last.figures
        }
        others = {
            name: last.figures[name]
            for name in ("persistence", "containment")
            if name in last.figures
        }
        steps = [name for name in STEPS if name in self._steps()]
        return {
            "sequence_id": self.sequence_id,
            "releases": len(self._findings),
            "decided_by": "; ".join(STEPS[step] for step in steps),
            **views,
            "changes": self._changes(),
            "values": last.figures["values"]["k_value_all"],
            **others,
            "by_release": [
                {**findings.to_mapping(), **({"usefulness": found.to_mapping()} if found else {})}
                for findings, found in zip(self._findings, self._usefulness, strict=True)
            ],
        }

    def _steps(self) -> set[str]:
        return {
            findings.checked[name]
            for findings in self._findings
            for name in ("alpha_by", "linked_alpha_by")
            if name in findings.checked
        }

    def _changes(self) -> dict[str, Any]:
        """Summarize all visible changes, by the candidates that all releases leave."""
        rows = [findings.figures["changes"] for findings in self._findings]

        def least(name: str) -> int | None:
            seen = [row[name]["min"] for row in rows if row[name]["min"] is not None]
            return min(seen, default=None)

        return {
            "visible": rows[-1]["k_delta_all"]["vertices"],
            "below_k": rows[-1]["k_delta_all"]["below_k"],
            "k_delta_min": rows[-1]["k_delta_all"]["min"],
            "alpha_alike": rows[-1]["alpha_alike"],
            "k_delta_real_min": least("k_delta_real"),
            "k_still_min": least("k_still"),
        }


def _usefulness(
    release: Release, true: TrueGraph, owners: Mapping[str, Hashable | None]
) -> Usefulness:
    """Return what a release shares with the truth.

    The mappings of past releases no longer name departed people: their places count as inserted,
    their ties as hidden.
    """
    return usefulness(traced_of(release, true, owners))


def _promise(manifests: Sequence[Manifest], window: Window | None, cover: bool | None) -> Promise:
    """Return what was asked for, or else the most that any manifest promises."""
    promised = [promise_of(manifest) for manifest in manifests]
    windows = [promise.window for promise in promised]
    widest: int | Literal["all"] = (
        "all" if "all" in windows else max((int(w) for w in windows), default=1)
    )
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
            found.append(Violation("time_order", after.release_id, 1))
        if before.sequence_id == after.sequence_id and promise_of(before) != promise_of(after):
            found.append(Violation("guarantee_changed", after.release_id, 1))
    return found


def _by_kind(violations: Iterable[Violation]) -> list[dict[str, Any]]:
    """Group violations; the first release of each kind is told in full."""
    kinds: dict[str, list[Violation]] = {}
    for violation in violations:
        kinds.setdefault(violation.kind, []).append(violation)
    return [
        {
            "kind": kind,
            "meaning": KINDS[kind],
            "releases": [violation.release_id for violation in kinds[kind]],
            "first": kinds[kind][0].to_mapping(),
        }
        for kind in KINDS
        if kind in kinds
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


def report_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a report on releases together (`sequence_report.audit_sequence`)."""
    promise = report["promise"]
    word = "safe" if report["safe"] else "NOT safe"
    yield (
        f"{_several(report['releases'], 'release')} in "
        f"{_several(len(report['sequences']), 'sequence')}: {word} "
        f"(w = {promise['window']}, cover {'on' if promise['cover'] else 'off'})"
    )
    for sequence in report["sequences"]:
        yield from _sequence_lines(sequence)
    for kind in report["violations"]:
        yield from _violation_lines(kind)
    for line in report["not_checked"]:
        yield f"not checked: {line}"


def _sequence_lines(sequence: dict[str, Any]) -> Iterator[str]:
    several = _several(sequence["releases"], "release")
    yield f"sequence {sequence['sequence_id']}, {several}"
    for view in ("published", "linked"):
        if view not in sequence:
            continue
        figures = sequence[view]
        if view == "linked":
            yield "  for an attacker that follows people over rebirths and earlier sequences:"
        for name, words in (
            ("candidates", "candidates over all releases"),
            ("candidates_real_leavers_known", "  people among them, without those who left"),
        ):
            if figures[name]["min"] is not None:  # Else nobody is known.
                yield f"  {words}: {_counts(figures[name])}"
        share = figures["sensitive_share"]
        yield (
            f"  sensitive share of them: most {text_of(share['max'], '', 'none')}, "
            f"median {text_of(share['median'], '', 'none')}, {share['above_alpha']} above alpha"
        )
    yield from _changes_lines(sequence["changes"])
    if (persistence := sequence.get("persistence")) is not None:
        yield (
            "  true against inserted ties, 0.5 tells nothing: age "
            f"{text_of(persistence['age_auc'], '.3f', 'unknown')}, survival "
            f"{text_of(persistence['survival_auc'], '.3f', 'unknown')}"
        )
    if (containment := sequence.get("containment")) is not None:
        yield (
            f"  held back: {containment['withheld_people']} people for at most "
            f"{containment['withheld_releases_max']} releases, {containment['missing_ties']} ties "
            f"for at most {containment['missing_releases_max']}, {containment['held_changes']} "
            "changes"
        )
    yield from _usefulness_lines(
        [row["usefulness"] for row in sequence["by_release"] if "usefulness" in row]
    )
    yield f"  decided by: {sequence['decided_by']}"


def _changes_lines(changes: dict[str, Any]) -> Iterator[str]:
    """Yield visible changes, and the candidates that changed alike."""
    yield f"  visible changes: {changes['visible']}"
    if changes["k_delta_min"] is not None:
        alike = changes["alpha_alike"]
        yield (
            f"    fewest candidates that changed alike {changes['k_delta_min']}, "
            f"{changes['below_k']} below k; sensitive share of them: most "
            f"{text_of(alike['max'], '', 'none')}, {alike['above_alpha']} above alpha"
        )


def _usefulness_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the last release's overlap with truth, mean and worst."""
    if not rows:
        return
    worths = [worth_of(Audit.of({"usefulness": row})) for row in rows]
    yield f"  last release: {worth_in_words(worths[-1]) or 'no edges, true or released'}"
    dear = sum(row["costs_more_than_nothing"] for row in rows)
    mean = over_time_in_words(worths)
    yield f"  {mean + '; ' if mean else ''}{_several(dear, 'release')} dearer than nothing"


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _counts(figures: dict[str, Any]) -> str:
    return (
        f"fewest {figures['min']}, 1% at most {figures['p1']}, 5% at most {figures['p5']}, "
        f"median {figures['median']}; {figures['below_k']} of {figures['vertices']} below k"
    )


def _violation_lines(kind: dict[str, Any]) -> Iterator[str]:
    """Yield a violation's releases and some vertices, by published id."""
    first = kind["first"]
    more = len(kind["releases"]) - 1
    where = first["release_id"] + (f" and {_several(more, 'more release')}" if more else "")
    yield f"VIOLATION {kind['kind']} in {where}"
    if not first["examples"]:
        yield f"  {first['count']}: {kind['meaning']}"
    for name in first["examples"]:
        yield f"  vertex {name} {kind['meaning']}"
    if first["examples"] and (rest := first["count"] - len(first["examples"])) > 0:
        yield f"  and {rest} more vertices in that release (--limit shows them)"
