"""Figures of a release that operators watch: worth, cost and safety.

They are taken from the private audit. All but the sizes are secrets of the release: an
attacker that knows how many vertices are inserted finds them more easily.

A figure is a row of one of the tables below; it then appears in metrics and status (`make
reference`, a place on a dashboard). A name with a part of `GREATEST_IS_WORST` counts as worse the
greater it is. `ATTACKS_TOLD` is also the order in which attacks are run within the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ktsafe.audit import Cost, Overlap, Usefulness
from ktsafe.audit.changes_by_age import AGES, RECENT, Changed, ToldFreshness
from ktsafe.audit.sequence.figures import Shares
from ktsafe.state.ledger import Ledger, ReleaseRecord, Status
from ktsafe.stream.files.audit_model import (
    AttackResult,
    Audit,
    Candidates,
    StatisticsBudget,
)
from ktsafe.stream.files.releases_write import AUDIT
from ktsafe.stream.files.report_texts import percent, text_of
from ktsafe.stream.files.verdict import RISK_CURVE, risk_points, wanting

CANDIDATES: Final[Mapping[str, Callable[[Audit], Candidates | None]]] = {
    "claimed": lambda audit: audit.privacy.all.k_claimed,
    "real": lambda audit: audit.privacy.all.k_real,
    "known": lambda audit: audit.privacy.all.k_known,
    "sequence": lambda audit: audit.published.candidates if audit.published else None,
    "sequence_real": lambda audit: (
        audit.published.candidates_real_leavers_known if audit.published else None
    ),
    "change": lambda audit: audit.alike,
}
"""Against whom candidates are counted, and where the audit tells.

By the definition; real people only; against an attacker that knows the true ties; over all
releases of the sequence; the same, real people only, without those who left; against an attacker
that saw a person gain or lose ties at any release.
"""
SENSITIVE: Final[Mapping[str, Callable[[Audit], Shares | None]]] = {
    "claimed": lambda audit: audit.privacy.all.alpha,
    "real": lambda audit: audit.privacy.all.alpha_real,
    "sequence_real": lambda audit: (
        audit.published.alpha_real_leavers_known if audit.published else None
    ),
}
COST_PARTS: Final[Mapping[str, Callable[[Cost], int]]] = {
    "unowned_vertices": lambda cost: cost.unowned_vertices,
    "inserted_edges": lambda cost: cost.inserted_edges,
    "deleted_vertices": lambda cost: cost.deleted_vertices,
    "deleted_edges": lambda cost: cost.deleted_edges,
}
YARDSTICKS: Final[Mapping[str, Callable[[Cost], int]]] = {"copies": lambda it: it.k_copies}
"""What a cost is compared with."""
SHARED: Final[Mapping[str, Callable[[Overlap], float | None]]] = {
    "cost_share": lambda overlap: overlap.cost_share,
    "precision": lambda overlap: overlap.precision,
    "recall": lambda overlap: overlap.recall,
    "f1": lambda overlap: overlap.f1,
}
WORTH: Final = tuple(f"{of}_{name}" for of in ("edge", "vertex") for name in SHARED)
"""What a release shares with the true graph, see `worth_of`."""
AFRESH: Final = "afresh"
WATCHED: Final = (*WORTH, "edge_f1_afresh", "edge_f1_latest")
"""The same, and two more figures of F1 of edges.

Of a release without a past, near to what a rebase would bring; and of the latest graph, in which
pairs of classes without edges are as they were shown last.
"""
ATTACKS_TOLD: Final = (
    "one_hop",
    "sensitive_inference",
    "own_account",
    "friends_values",
    "sensitive_by_friends",
    "friends_degrees",
    "changes",
    "net_changes",
    "departure",
    "friends_values_over_time",
    "sensitive_by_friends_over_time",
    "friends_degrees_over_time",
    "membership_of_vertices",
    "membership_of_ties",
    "two_hops",
    "denoised",
    "structure",
    "risk_curve",
    "membership_of_people",
)
"""The attacks that the service runs on each release, in this order; see `ktsafe.assess.attacks`."""
RISK_TIES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
RISK_SEEDS: Final = (0.0, 0.01, 0.05)
"""Shares of the true ties, and of the people, that the attackers of the risk curve know."""
HISTORY_MAX: Final = 30
"""Releases remembered for trends."""


class CandidateFigures(msgspec.Struct, frozen=True):
    """Smallest candidate count; people with fewer than k candidates.

    `least` is None where nobody was asked (no visible change), `share` where nobody is there.
    """

    least: int | None
    below_k: int
    share: float | None


class Attacked(msgspec.Struct, frozen=True):
    """An attack's figure, its 95% interval, its control and its bound.

    `promise` is None where nothing is promised against this attack.
    """

    value: float
    low: float
    high: float
    control: float
    promise: float | None

    @property
    def is_broken(self) -> bool:
        """Whether even the lower end of the interval exceeds the promise."""
        return self.promise is not None and self.low > self.promise


class Secrets(msgspec.Struct, frozen=True):
    """What only operators may know of a release.

    Attributes
    ----------
    cost:
        Elements by which the release differs from the true graph, by part.
    yardsticks:
        What it is compared with; None where a bound does not hold.
    candidates:
        By attacker, see `CANDIDATES`; those that the audit does not tell are left out.
    sensitive:
        Greatest share of sensitive ones among anybody's candidates.
    worth:
        What it shares with the true graph, see `WATCHED`; None for a share of nothing, or where
        the audit does not tell.
    attacks:
        By attack its sharpest variant; those that were not run or found nobody to attack are left
        out.
    freshness:
        How far it follows the network; None where the audit does not tell.
    wanting:
        What it was found wanting in, see `ktsafe.stream.files.verdict.Kind`.
    risk:
        Points of the risk curve, by what the attacker knows: `risk_curve.said`.
    margin_until:
        When the margin of a sequence's cohorts is expected to be used up, RFC 3339; None: not
        known.
    """

    cost: dict[str, int]
    yardsticks: dict[str, int | None]
    candidates: dict[str, CandidateFigures]
    sensitive: dict[str, float | None]
    worth: dict[str, float | None] = msgspec.field(default_factory=dict)
    attacks: dict[str, Attacked] = msgspec.field(default_factory=dict)
    freshness: FreshnessFigures | None = None
    wanting: tuple[str, ...] = ()
    risk: dict[str, float] = msgspec.field(default_factory=dict)
    margin_until: str | None = None


class ReleaseFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One release as operators see it.

    `secrets` is None where the audit is gone, or where the viewer must not see them; `statistics`
    where they have no budget.
    """

    release_id: str
    nominal_us: int
    vertices: int
    edges: int
    is_published: bool
    secrets: Secrets | None = None
    statistics: StatisticsBudget | None = None


def release_figures(record: ReleaseRecord, audit: Audit | None) -> ReleaseFigures:
    """Return a release's figures in the ledger, from its private audit."""
    return ReleaseFigures(
        release_id=record.release_id,
        nominal_us=record.slot_us,
        vertices=record.n_vertices,
        edges=record.n_edges,
        is_published=record.status is Status.PUBLISHED,
        secrets=None if audit is None else secrets_of(audit),
        statistics=None if audit is None else audit.statistics,
    )


def budget_in_words(found: StatisticsBudget) -> str:
    """Return the budget in one line.

    Examples
    --------
    >>> budget_in_words(StatisticsBudget(0, 4_900_000, 100_000))
    'statistics: none, epsilon 4.9 of a year spent, 0.1 left'
    """
    own, spent, left = (n / 1e6 for n in (found.epsilon_micro, found.spent_micro, found.left_micro))
    told = f"epsilon {own:.3g}" if own else "none"
    return f"statistics: {told}, epsilon {spent:.3g} of a year spent, {left:.3g} left"


def secrets_of(audit: Audit) -> Secrets:
    """Pick the figures out of a private audit."""
    counted = {name: counts for name, of in CANDIDATES.items() if (counts := of(audit))}
    shares = {name: told for name, of in SENSITIVE.items() if (told := of(audit))}
    return Secrets(
        cost={part: of(audit.cost) for part, of in COST_PARTS.items()},
        yardsticks={name: of(audit.cost) for name, of in YARDSTICKS.items()},
        candidates={
            name: CandidateFigures(found.min, found.below_k, found.share)
            for name, found in counted.items()
        },
        sensitive={name: found.max for name, found in shares.items()},
        worth=watched_of(audit),
        attacks=attacks_of(audit),
        freshness=freshness_of(audit),
        wanting=tuple(dict.fromkeys(each.kind for each in wanting(audit))),
        risk={
            each.attack.removeprefix(f"{RISK_CURVE}."): each.value for each in risk_points(audit)
        },
        margin_until=audit.margin_until,
    )


def attacks_of(audit: Audit) -> dict[str, Attacked]:
    """Pick the sharpest variant of every watched attack out of an audit."""
    return {
        name: Attacked(each.value, *each.interval, each.control, each.promise)
        for name, each in sharpest(audit.attacks.results).items()
        if name in ATTACKS_TOLD
    }


def sharpest(results: Iterable[AttackResult]) -> dict[str, AttackResult]:
    """Return the sharpest variant of every attack with targets.

    That is the one whose lower end exceeds its promise by most. Where nothing is promised it is
    the greatest figure.
    """
    found: dict[str, AttackResult] = {}
    for result in results:
        name = result.name
        if result.targets and (name not in found or _sharpness(result) > _sharpness(found[name])):
            found[name] = result
    return found


def _sharpness(result: AttackResult) -> tuple[bool, float]:
    if result.promise is None:
        return False, result.value
    return True, result.interval[0] - result.promise


def recent_releases(ledger: Ledger, audit_dir: Path) -> Iterator[ReleaseFigures]:
    """Yield figures of the ledger's last releases, oldest first."""
    for record in ledger.releases()[-HISTORY_MAX:]:
        yield release_figures(record, _read_audit(audit_dir / record.release_id / AUDIT))


def _read_audit(path: Path) -> Audit | None:
    """Return a private audit; None if it is gone."""
    try:
        return Audit.read(path)
    except (OSError, ValueError, msgspec.DecodeError):
        return None


def worth_of(found: Usefulness) -> dict[str, float | None]:
    """Pick the figures of `WORTH` out of a release's usefulness."""
    both = (("edge", found.edges), ("vertex", found.vertices))
    return {
        f"{of}_{name}": figure(overlap) for of, overlap in both for name, figure in SHARED.items()
    }


def watched_of(audit: Audit) -> dict[str, float | None]:
    """Pick the figures of `WATCHED` out of a private audit."""
    return {
        **worth_of(audit.usefulness),
        "edge_f1_afresh": audit.afresh.edges.f1 if audit.afresh else None,
        "edge_f1_latest": audit.freshness.latest.f1 if audit.freshness else None,
    }


def worth_in_words(worth: Mapping[str, float | None]) -> str:
    """Return worth and cost of a release in one line, or nothing."""
    if worth.get("edge_f1") is None:
        return ""
    names = ("edge_precision", "edge_recall", "edge_f1", "edge_cost_share", "vertex_precision")
    precision, recall, f1, cost, people = (text_of(worth.get(name)) for name in names)
    afresh, latest = worth.get("edge_f1_afresh"), worth.get("edge_f1_latest")
    return (
        f"edges: precision {precision}, recall {recall}, F1 {f1}"
        + ("" if afresh is None else f" (F1 of a fresh release: {afresh:.2f})")
        + ("" if latest is None else f", latest graph {latest:.2f}")
        + f", cost {cost} of the ties; people {people} of the vertices"
    )


def safety_in_words(secrets: Secrets) -> str:
    """Return the share with few candidates and the best attack's figure."""
    candidates, parts = secrets.candidates, []
    least = candidates.get("sequence") or candidates.get("claimed")
    real = candidates.get("sequence_real") or candidates.get("real")
    if real and (least is None or real.least != least.least):
        parts.append(f"fewest candidates that are people {real.least}")
        parts.append(f"{real.below_k:,} people with fewer than k of them")
    if least:
        parts.append(f"fewest candidates {least.least}")
    bound = [(a.value / a.promise, name) for name, a in secrets.attacks.items() if a.promise]
    if bound:
        name = max(bound)[1]
        found = secrets.attacks[name]
        parts.append(f"{name} finds {found.value:.3f}, bound {found.promise:.3f}")
    if secrets.margin_until:
        parts.append(margin_in_words(secrets.margin_until))
    return "; ".join(parts)


def margin_in_words(until: str) -> str:
    """Return until when the margin of cohorts is expected to last.

    Examples
    --------
    >>> margin_in_words("2027-03-01T00:00:00Z")
    'margin used up about 2027-03-01, rebase before'
    """
    return f"margin used up about {until.partition('T')[0]}, rebase before"


# Freshness of a release, and what a sequence is worth on average: its last release alone may be far
# from that, and so may the worst.

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


def freshness_in_words(found: FreshnessFigures) -> str:
    """Return how far a release follows recent changes, in one line.

    Empty if nothing is told.
    """
    recent = {name: ages[RECENT] for name, ages in found.by_age.items()}
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
    edges = f"{found.changed['came']:,} edges came, {found.changed['gone']:,} went"
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
