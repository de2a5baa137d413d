"""A sequence's worth by release and on average, private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ktsafe.audit.freshness import AGES, RECENT
from ktsafe.audit.model import AgedFigures, Audit, ToldFreshness
from ktsafe.stream.files.freshness_figures import over_time_in_words, worth_over_time
from ktsafe.stream.files.release_figures import watched_of
from ktsafe.stream.formatting import text_of


def over_releases(audits: Sequence[Audit]) -> dict[str, Any]:
    """Return what the releases of a sequence are worth, JSON-ready.

    Parameters
    ----------
    audits:
        Their private audits, in order of publication.

    Returns
    -------
    dict
        `releases`: for each the `release_id`, `nominal_time`, number of `edges`, what
        changed and is shown, what `came` and `gone`, and its `worth`. `worth`: mean and worst of
        each figure, see `worth_over_time`.
    """
    rows = [_row(audit) for audit in audits]
    return {"releases": rows, "worth": worth_over_time([row["worth"] for row in rows])}


def _row(audit: Audit) -> dict[str, Any]:
    fresh = audit.freshness or ToldFreshness()
    return {
        "release_id": audit.release_id,
        "nominal_time": audit.nominal_time,
        "edges": audit.size.released.edges,
        "new_ties": _counted(fresh.ties),
        "ended_ties": _counted(fresh.ended),
        "newcomers": _counted(fresh.newcomers),
        "leavers": _counted(fresh.leavers),
        "came": fresh.changed.came,
        "gone": fresh.changed.gone,
        "worth": watched_of(audit),
    }


def _counted(ages: Mapping[str, AgedFigures]) -> dict[str, int | None]:
    """Return how many changed in the last releases, and how many of them are shown."""
    recent = ages.get(RECENT, AgedFigures())
    return {"count": recent.count, "shown": round((recent.count or 0) * (recent.shown or 0.0))}


def describe_life(found: Mapping[str, Any]) -> str:
    """Return in words what `over_releases` found.

    A line per release, and the mean.
    """
    heads = ("", "edges", "came", "went", "new ties", "ended, gone", "newcomers", "F1", "latest")
    rows = [heads, *(_cells(row) for row in found["releases"])]
    widths = [max(len(row[j]) for row in rows) for j in range(len(heads))]
    lines = [f"life      what changed in the last {AGES[-1]} releases, and what of it readers see"]
    lines += [
        "          " + "  ".join(f"{text:>{w}}" for text, w in zip(row, widths, strict=True))
        for row in rows
    ]
    if mean := over_time_in_words([row["worth"] for row in found["releases"]]):
        lines.append(f"worth     {mean}")
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line of the table as texts."""
    new, ended, people = (row[name] for name in ("new_ties", "ended_ties", "newcomers"))
    gone = (ended["count"] or 0) - ended["shown"]
    return (
        (row["nominal_time"] or row["release_id"] or "")[:10],
        text_of(row["edges"], ","),
        text_of(row["came"], ","),
        text_of(row["gone"], ","),
        _of(new["shown"], new["count"]),
        _of(gone, ended["count"]),
        _of(people["shown"], people["count"]),
        text_of(row["worth"].get("edge_f1")),
        text_of(row["worth"].get("edge_f1_latest")),
    )


def _of(part: int, whole: int | None) -> str:
    return f"{part:,} of {whole:,}" if whole else "-"
