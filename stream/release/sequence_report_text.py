"""Reports on releases together, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ktsafe.audit.model import Audit
from ktsafe.stream.files.freshness_figures import over_time_in_words
from ktsafe.stream.files.release_figures import worth_in_words, worth_of
from ktsafe.stream.formatting import text_of


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
