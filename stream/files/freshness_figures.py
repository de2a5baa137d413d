"""Freshness and worth of a sequence, for operators.

All of it is taken from private audits. A sequence is worth what its releases are worth on average;
the last release alone may be far from that, and so may the worst.

A figure is a row of `FRESHNESS` or `CHANGED`; it becomes a label of the secret metrics (`make
reference`). A name with a part of `GREATEST_IS_WORST` counts as worse the greater it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ktsafe.audit.changes_by_age import AGES, RECENT, Changed, ToldFreshness
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.report_texts import percent, text_of

FRESHNESS_AGES: Final = (*map(str, AGES), RECENT)
FRESHNESS: Final[Mapping[str, Callable[[ToldFreshness, str], float | None]]] = {
    "ties_shown": lambda it, age: it.ties[age].shown,
    "ties_ratio": lambda it, age: it.ties[age].ratio,
    "published_ratio": lambda it, age: it.ties[age].published.ratio,
    "ended_shown": lambda it, age: it.ended[age].shown,
    "ended_by_leaving_shown": lambda it, age: it.ended_by_leaving[age].shown,
    "newcomers_shown": lambda it, age: it.newcomers[age].shown,
    "leavers_shown": lambda it, age: it.leavers[age].shown,
}
"""What is told by age, and where the audit tells; see `ktsafe.audit.freshness.Freshness`."""
CHANGED: Final[Mapping[str, Callable[[Changed], int]]] = {
    "came": lambda changed: changed.came,
    "gone": lambda changed: changed.gone,
    "came_true": lambda changed: changed.came_true,
}
GREATEST_IS_WORST: Final = ("cost_share", "ended", "leavers")
"""Parts of the names of figures that are worse the greater they are."""


class FreshnessFigures(msgspec.Struct, frozen=True):
    """How far one release follows the network. SECRET.

    These are statistics of edits.

    Attributes
    ----------
    by_age:
        Shares by figure (`FRESHNESS`) and age (`FRESHNESS_AGES`), None for a share of nothing.
    changed:
        Edges that came and went with the release, and how many of those that came are true.
    """

    by_age: dict[str, dict[str, float | None]]
    changed: dict[str, int]


def freshness_of(audit: Audit) -> FreshnessFigures | None:
    """Pick the figures out of a private audit, if it has some."""
    if (found := audit.freshness) is None:
        return None
    return FreshnessFigures(
        {name: {age: of(found, age) for age in FRESHNESS_AGES} for name, of in FRESHNESS.items()},
        {name: of(found.changed) for name, of in CHANGED.items()},
    )


def freshness_in_words(found: Mapping[str, Any]) -> str:
    """Return how far a release follows recent changes, in one line.

    Empty if nothing is told.

    Parameters
    ----------
    found:
        `FreshnessFigures` as a mapping.
    """
    recent = {name: ages[RECENT] for name, ages in found["by_age"].items()}
    parts = []
    if recent["ties_shown"] is not None:
        ratio = text_of(recent["ties_ratio"])
        parts.append(f"{percent(recent['ties_shown'])} of new ties shown ({ratio} of older ones)")
    if recent["ended_shown"] is not None:
        parts.append(f"{percent(recent['ended_shown'])} of ended ones still")
    if recent["newcomers_shown"] is not None:
        parts.append(f"{percent(recent['newcomers_shown'])} of newcomers")
    if not parts:
        return ""
    changed = found["changed"]
    edges = f"{changed['came']:,} edges came, {changed['gone']:,} went"
    return f"the last {AGES[-1]} releases' changes: {', '.join(parts)}; {edges}"


def over_time(values: Iterable[float | None], *, greatest: bool = False) -> dict[str, float | None]:
    """Return a figure's mean and worst over releases that tell it.

    Parameters
    ----------
    greatest:
        Whether the greatest is the worst.

    Examples
    --------
    >>> over_time([0.5, None, 0.75])
    {'mean': 0.625, 'worst': 0.5}
    """
    known = [value for value in values if value is not None]
    if not known:
        return {"mean": None, "worst": None}
    worst = max(known) if greatest else min(known)
    return {"mean": round(sum(known) / len(known), 6), "worst": worst}


def worth_over_time(
    releases: Sequence[Mapping[str, float | None]],
) -> dict[str, dict[str, float | None]]:
    """Return `over_time` of every figure of some releases, by name."""
    names = list(dict.fromkeys(name for release in releases for name in release))
    return {
        name: over_time(
            (release.get(name) for release in releases),
            greatest=any(word in name for word in GREATEST_IS_WORST),
        )
        for name in names
    }


def over_time_in_words(releases: Sequence[Mapping[str, float | None]]) -> str:
    """Return what a sequence is worth over time, in one line.

    Empty for fewer than two releases.

    Parameters
    ----------
    releases:
        What each release is worth, by the names of `ktsafe.stream.files.release_figures.WATCHED`.
    """
    told = [release for release in releases if release.get("edge_f1") is not None]
    if len(told) < 2:
        return ""
    found = worth_over_time(told)
    words = {
        "edge_f1": "F1",
        "edge_precision": "precision",
        "edge_recall": "recall",
        "edge_cost_share": "cost",
    }
    parts = [
        f"{word} {text_of(found[name]['mean'])} (worst {text_of(found[name]['worst'])})"
        for name, word in words.items()
        if name in found
    ]
    latest = found.get("edge_f1_latest", {"mean": None})["mean"]
    if latest is not None:
        parts.append(f"F1 of the latest graph {latest:.2f}")
    return f"mean of {len(told)} releases: {', '.join(parts)}"
