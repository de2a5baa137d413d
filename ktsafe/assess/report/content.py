"""The report's content as JSON, from existing private audits.

Nothing is measured here. A part that no audit tells is None or empty, and the page says so. No id
of a person and no attribute value is among the figures: they are per group.

Keys may be added. `audit --page --json` prints this, so one that goes or changes its meaning needs
another `FORMAT`. Titles may be reworded; when they say "good" may not
(tests/ktsafe/assess/report/test_verdict.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import convert
from msgspec.structs import asdict, replace

from ktsafe.assess.attacks.neighbourhoods import NAME as STRUCTURE
from ktsafe.assess.report.charts import RiskCurve, RiskPoint
from ktsafe.assess.report.score import concluded, score
from ktsafe.assess.report.words import ASSESSED, NOT_COVERED, parameters
from ktsafe.audit.changes_by_age import RECENT
from ktsafe.audit.cost import share
from ktsafe.audit.privacy_figures import GroupOfBand
from ktsafe.stream.files.audit_model import Audit, Utility
from ktsafe.stream.files.release_figures import sharpest, watched_of, worth_over_time
from ktsafe.stream.files.releases_read import Manifest
from ktsafe.stream.files.report_texts import text_of
from ktsafe.stream.files.verdict import (
    fewest_people,
    findings,
    guarantees,
    risk_points,
    sensitive_people,
    unfinished,
    wanting,
)

FORMAT: Final = 1


class SharpestResult(msgspec.Struct, frozen=True, kw_only=True):
    """An attack's result by its sharpest variant.

    `alpha` is what a claim "is sensitive" is told beside, where nothing is promised of it, and
    `without_target` what the best predictor finds that sees no release with the person.
    """

    attack: str
    variant: str
    measure: str
    targets: int
    value: float
    interval: tuple[float, float]
    control: float
    promise: float | None
    is_broken: bool
    alpha: float | None = None
    without_target: float | None

    def __str__(self) -> str:
        """Return the result beside baseline and bound, in words."""
        bound = text_of(self.promise, ".3f", "none")
        if self.alpha is not None:
            bound += f"; alpha {self.alpha:.3f}"
        baseline = f"{self.control:.3f}"
        if self.without_target is not None:
            baseline += f", without the target {self.without_target:.3f}"
        return f"{self.variant} {self.value:.3f} (baseline {baseline}, bound {bound})"


class SharesAlike(msgspec.Struct, frozen=True):
    """ANO-NET's measures: shares in classes of 2 and k, share named."""

    measure: str
    true_2: float
    true_k: float
    shown_2: float
    shown_k: float
    named: float


class BandOfPeople(msgspec.Struct, frozen=True):
    """Protection of the people of a band, by candidates that are people."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    people: int
    fewest_real: int | None
    share_below_k: float | None
    above_alpha: float | None


class Assessed(msgspec.Struct, frozen=True):
    """A question of an impact assessment, with attacks' answers."""

    risk: str
    question: str
    attacks: list[str]
    answers: list[str]


class TrueAndReleased(msgspec.Struct, frozen=True):
    """A figure of structure of both graphs: `off` beyond 20%."""

    what: str
    true: float
    released: float
    off: bool


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a release does not show yet, and for how many releases."""

    what: str
    count: int
    releases_max: int | None
    releases_median: float | None = None


class LeastProtected(msgspec.Struct, frozen=True):
    """The groups of people with fewest real candidates, never by id."""

    people: int
    fewest_real: int | None
    risk_mean: float | None
    below_k: int | None
    above_alpha: int
    by_true_degree: list[BandOfPeople]
    by_class_size: list[BandOfPeople]


class CostOfRelease(msgspec.Struct, frozen=True):
    """The cost in its parts, beside what other releases would cost."""

    parts: dict[str, int]
    total: int
    k_copies: int
    nothing: int
    edge_cost_share: float | None


class Drift(msgspec.Struct, frozen=True):
    """The few figures of a release that are followed over time."""

    release_id: str
    nominal_time: str | None
    vertices: int
    edges: int
    precision: float | None
    recall: float | None
    f1: float | None
    f1_latest: float | None
    new_ties_shown: float | None
    ended_ties_shown: float | None
    newcomers_shown: float | None
    edge_cost_share: float | None
    below_k_real: float | None
    fewest_candidates: int | None
    people_not_shown: float | None


GOOD: Final = "Every guarantee is kept for everybody, and no attack exceeds its bound"
TITLES: Final = {
    "guarantee": "NOT safe: a guarantee is broken",
    "attack": "An attack finds more than its bound",
    "open": "Guarantees are kept; attacks are missing",
}
"""By the gravest kind of finding; of the others the finding itself is the title."""


@dataclasses.dataclass(frozen=True)
class ReleaseWithFigures:
    """The figures of one release.

    Attributes
    ----------
    audit:
        The private audit, with `utility` and `attacks` where those were measured.
    sha256:
        Of the file of the manifest, which has those of all other files; None: not known.
    """

    manifest: Manifest
    audit: Audit
    sha256: str | None = None

    def heading(self, edition: str) -> dict[str, Any]:
        """Return what both editions begin with.

        That names the release and its promise.
        """
        manifest = self.manifest
        return {
            "format": FORMAT,
            "edition": edition,
            "release_id": manifest.release_id,
            "sequence_id": manifest.sequence_id,
            "nominal_time": manifest.nominal_time,
            "guarantee": manifest.guarantee,
            "parameters": parameters(
                manifest.params, manifest.guarantee.w, manifest.values, manifest.ties
            ),
        }


def content(history: Sequence[ReleaseWithFigures], written: str) -> dict[str, Any]:
    """Return the private report of the last release, beside all before.

    Parameters
    ----------
    history:
        Releases of one sequence in order of publication, at least one.
    written:
        When the report is made, as text.
    """
    last = history[-1]
    audit = last.audit
    utility = audit.utility
    judged = safety(audit, covers_changes=last.manifest.guarantee.cover)
    total, parts = score(audit, [told.audit for told in history])
    return {
        **last.heading("private"),
        "sha256": last.sha256,
        "written": written,
        "releases": len(history),
        "size": audit.size,
        "attributes": {
            name: getattr(last.manifest.schema, name) for name in ("quasi_identifiers", "sensitive")
        },
        "mean_ties": utility and utility.released.mean_degree,
        "safety": judged,
        "found_wanting": [
            {
                "release_id": told.manifest.release_id,
                "nominal_time": told.manifest.nominal_time,
                "findings": found,
            }
            for told in history[:-1]
            if (found := wanting(told.audit))
        ],
        "utility": {
            "usefulness": audit.usefulness,
            "f1_afresh": audit.afresh.edges.f1 if audit.afresh else None,
            "score": total,
            "parts": parts,
            "structure": structure(utility) if utility else [],
            "degree_bands": utility and utility.degree_bands,
            "attribute_mix": utility and dict(sorted(utility.attribute_mix.items())),
        },
        "conclusions": concluded(utility.conclusions if utility else None),
        "least_protected": least_protected(audit),
        "waiting": waiting(audit),
        "freshness": audit.freshness,
        "over_time": worth_over_time([watched_of(told.audit) for told in history]),
        "drift": [_drift(told) for told in history] if len(history) > 1 else [],
        "cost": cost(audit),
        "assessment": assessment(judged["attacks"]),
        "not_covered": list(NOT_COVERED),
        "dossier": None,
    }


def safety(audit: Audit, *, covers_changes: bool = False) -> dict[str, Any]:
    """Return the safety of a release: guarantees, findings of attacks, and faults.

    Parameters
    ----------
    covers_changes:
        Whether it is guaranteed that at least k change alike.

    Returns
    -------
    dict
        `verdict`: "good", "short" (of people, or of attacks that were run) or "broken", and its
        `title`. `findings` as in `ktsafe.stream.files.verdict`. `guarantees`: see there. `people`:
        how many candidates are people. `margin_until`: when the margin of cohorts is expected to
        be used up. `attacks`, `attacks_of` (the release that was attacked,
        if it is a former one), `attacks_unfinished`, `structure`, `risk_curve`.
    """
    found = findings(audit, covers_changes=covers_changes)
    title = TITLES.get(found[0].kind, found[0].says) if found else GOOD
    broken = bool(found) and found[0].is_broken
    return {
        "verdict": "broken" if broken else "short" if found else "good",
        "title": title.rstrip("."),
        "findings": found,
        "guarantees": guarantees(audit, covers_changes=covers_changes),
        "people": fewest_people(audit),
        "margin_until": audit.margin_until,
        # In one order, as private audits are written with their names sorted.
        "attacks": attacked(audit),
        "attacks_of": audit.attacks.of,
        "attacks_unfinished": unfinished(audit),
        "structure": structural(audit),
        "risk_curve": risk_curve(audit),
    }


def risk_curve(audit: Audit) -> RiskCurve | None:
    """Return the risk curve that attacks found; None without one."""
    found = risk_points(audit)
    if not found:
        return None
    points = convert([{**each.figures, **asdict(each)} for each in found], list[RiskPoint])
    ties, seeds = ({each.ties for each in points}, {each.seeds for each in points})
    return RiskCurve(sorted(ties), sorted(seeds), max(each.control for each in found), points)


def describe_risk(curve: RiskCurve | None) -> str:
    """Return a risk curve in a few lines.

    Points whose draws differ have the least and the greatest.
    """
    if curve is None:
        return "risk      not measured: nobody is shown"
    heads = "".join(f"{ties:>10.0%}" for ties in curve.ties)
    lines = [f"risk      people found by an attacker that knows of the true ties {heads}"]
    for seeds in curve.seeds:
        told = [_share_or_band(each) for each in curve.points if each.seeds == seeds]
        whom = f"and {seeds:.0%} of the people" if seeds else "and nobody"
        lines.append(f"          {whom:<55}{''.join(f'{text:>10}' for text in told)}")
    return "\n".join([*lines, f"          a guess among those of one kind: {curve.control:.3f}"])


BAND: Final = 0.15
"""Width of an interval from which on it is told in place of the mean: draws differ."""


def _share_or_band(point: RiskPoint) -> str:
    low, high = point.interval
    return f"{low:.2f}-{high:.2f}" if high - low > BAND else f"{point.value:.2f}"


def attacked(audit: Audit) -> list[SharpestResult]:
    """Return an audit's attack results, each by its sharpest variant."""
    found = sharpest(audit.attacks.results).items()
    told = [{**it.figures, **asdict(it), "attack": of, "variant": it.attack} for of, it in found]
    return convert(told, list[SharpestResult])


def structural(audit: Audit) -> list[SharesAlike]:
    """Return what each measure of ANO-NET finds."""
    of = [each for each in audit.attacks.results if each.name == STRUCTURE]
    told = [{**it.figures, "measure": it.attack.partition(".")[2], "named": it.value} for it in of]
    return convert(told, list[SharesAlike])


OFF: Final = 0.2
"""Relative error of a figure of structure from which on the report marks it."""


def structure(utility: Utility) -> list[TrueAndReleased]:
    """Return figures of structure that are known of both graphs."""
    true, shown, paths = utility.original, utility.released, utility.paths
    rows = [
        ("Ties a person", true.mean_degree, shown.mean_degree),
        ("Ties of the best tied person", true.max_degree, shown.max_degree),
        ("Share of people without a tie", true.isolated, shown.isolated),
        ("Closed triangles (transitivity)", true.transitivity, shown.transitivity),
        ("Clustering around a person", true.clustering, shown.clustering),
        ("Share in the largest component", true.largest_component, shown.largest_component),
        ("Hops between two people", paths.mean_hops.original, paths.mean_hops.released),
    ]
    modularity = utility.communities.modularity
    rows.append(("Modularity of communities", modularity.original, modularity.released))
    rows += [
        (f"Likeness of the tied by {name}", value, shown.assortativity.get(name))
        for name, value in true.assortativity.items()
    ]
    return [
        TrueAndReleased(what, one, other, abs(other - one) > OFF * abs(one))
        for what, one, other in rows
        if one is not None and other is not None
    ]


def least_protected(audit: Audit) -> LeastProtected:
    """Return the groups with fewest real candidates, never by id."""
    real, privacy = fewest_people(audit), audit.privacy
    return LeastProtected(
        people=privacy.all.vertices,
        fewest_real=real.min if real else None,
        risk_mean=privacy.all.k_real.risk_mean,
        below_k=real.below_k if real else None,
        above_alpha=sensitive_people(audit),
        by_true_degree=[_band(group) for group in privacy.by_true_degree],
        by_class_size=[_band(group) for group in privacy.by_class_size],
    )


def _band(group: GroupOfBand) -> BandOfPeople:
    real, above = group.k_real, share(group.alpha_real.above_alpha, group.vertices)
    return BandOfPeople(group.first, group.last, group.vertices, real.min, real.share, above)


def waiting(audit: Audit) -> list[Waiting]:
    """Return what the release does not show yet.

    How much, and for how many releases at most.
    """
    cost, held, suppressed = audit.cost, audit.sequence, audit.suppressed
    others = suppressed.people_with_other_quasi_identifiers
    rows = [
        ("People not shown", cost.deleted_vertices, held.withheld_age_max if held else None),
        ("Ties hidden", cost.deleted_edges, held.held_edge_age_max if held else None),
        ("of these, ties of people not shown", cost.edges_of_withheld, None),
        # Both count the same people; a sequence tells it better.
        ("People with another quasi-identifier than the true one", held.held_values, None)
        if held
        else ("People with other quasi-identifiers shown", others, None),
        ("Sensitive values masked", suppressed.sensitive_values, None),
    ]
    if held:
        words = "Ties of departed people still shown"
        rows.append((words, held.residual_edges, held.residual_age_max))
    found = [Waiting(*row) for row in rows]
    if audit.audit and (lacks := audit.audit.figures.containment):
        found[0] = replace(found[0], releases_median=lacks.withheld_releases_median)
    return found


def cost(audit: Audit) -> CostOfRelease:
    """Return the cost in its parts, beside what other releases would cost."""
    figures, edges = audit.cost, audit.usefulness.edges
    names = ("unowned_vertices", "deleted_vertices", "inserted_edges", "deleted_edges")
    parts = {name: getattr(figures, name) for name in names}
    return CostOfRelease(parts, figures.total, figures.k_copies, edges.true, edges.cost_share)


def assessment(attacks: Sequence[SharpestResult]) -> list[Assessed]:
    """Return an impact assessment's three questions, with attacks' answers."""
    rows = []
    for risk, (question, names) in ASSESSED.items():
        found = [each for each in attacks if each.attack in names]
        rows.append(Assessed(risk, question, [it.attack for it in found], list(map(str, found))))
    return rows


def _drift(told: ReleaseWithFigures) -> Drift:
    audit, edges = told.audit, told.audit.usefulness.edges
    followed, real = audit.freshness, fewest_people(audit)
    candidates = audit.published.candidates.min if audit.published else None
    return Drift(
        release_id=told.manifest.release_id,
        nominal_time=told.manifest.nominal_time,
        vertices=audit.size.released.vertices,
        edges=audit.size.released.edges,
        precision=edges.precision,
        recall=edges.recall,
        f1=edges.f1,
        f1_latest=followed.latest.f1 if followed else None,
        new_ties_shown=followed.ties[RECENT].shown if followed else None,
        ended_ties_shown=followed.ended[RECENT].shown if followed else None,
        newcomers_shown=followed.newcomers[RECENT].shown if followed else None,
        edge_cost_share=edges.cost_share,
        below_k_real=share(real.below_k if real else None, audit.privacy.all.vertices),
        fewest_candidates=candidates or audit.privacy.all.k_claimed.min,
        people_not_shown=share(audit.cost.deleted_vertices, audit.usefulness.vertices.true),
    )
