"""The report's content as JSON, from existing private audits.

Nothing is measured here. A part that no audit tells is None or empty, and the page says so. No id
of a person and no attribute value is among the figures: they are per group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ktsafe.assess.attacks.structure import NAME as STRUCTURE
from ktsafe.assess.report.misleading import concluded
from ktsafe.assess.report.score import score
from ktsafe.assess.report.words import ASSESSED, KINDS, NOT_COVERED, parameters
from ktsafe.stream.files.freshness_figures import worth_over_time
from ktsafe.stream.files.nested import at, share
from ktsafe.stream.files.release_figures import sharpest, watched_of
from ktsafe.stream.files.releases_read import Manifest
from ktsafe.stream.files.verdict import (
    fewest_people,
    findings,
    guarantees,
    results_of,
    risk_points,
    sensitive_people,
    unfinished,
    wanting,
)
from ktsafe.stream.formatting import text_of

FORMAT: Final = 2

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
    audit: Mapping[str, Any]
    sha256: str | None = None

    def heading(self, edition: str) -> dict[str, Any]:
        """Return what both editions begin with.

        Which release it is, and what it promises.
        """
        manifest = self.manifest
        return {
            "format": FORMAT,
            "edition": edition,
            "release_id": manifest.release_id,
            "sequence_id": manifest.sequence_id,
            "nominal_time": manifest.nominal_time,
            "guarantee": msgspec.to_builtins(manifest.guarantee),
            "parameters": parameters(
                self.audit["params"], manifest.guarantee.w, manifest.values, manifest.ties
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
    mix = at(audit, "utility.attribute_mix")
    judged = safety(audit, covers_changes=last.manifest.guarantee.cover)
    return {
        **last.heading("private"),
        "sha256": last.sha256,
        "written": written,
        "releases": len(history),
        "size": audit["size"],
        "attributes": {
            name: getattr(last.manifest.schema, name) for name in ("quasi_identifiers", "sensitive")
        },
        "mean_ties": at(audit, "utility.released.mean_degree"),
        "safety": judged,
        "found_wanting": [
            {
                "release_id": told.manifest.release_id,
                "nominal_time": told.manifest.nominal_time,
                "findings": msgspec.to_builtins(found),
            }
            for told in history[:-1]
            if (found := wanting(told.audit))
        ],
        "utility": {
            "usefulness": audit["usefulness"],
            "f1_afresh": at(audit, "afresh.edges.f1"),
            **score(audit["usefulness"], audit.get("utility"), [told.audit for told in history]),
            "degree_bands": at(audit, "utility.degree_bands"),
            "attribute_mix": None if mix is None else dict(sorted(mix.items())),
        },
        "conclusions": concluded(audit.get("utility")),
        "least_protected": least_protected(audit),
        "waiting": waiting(audit),
        "freshness": at(audit, "freshness"),
        "over_time": worth_over_time([watched_of(told.audit) for told in history]),
        "drift": [_drift(told) for told in history] if len(history) > 1 else [],
        "cost": cost(audit),
        "assessment": assessment(judged["attacks"]),
        "not_covered": list(NOT_COVERED),
        "dossier": None,
    }


def safety(audit: Mapping[str, Any], *, covers_changes: bool = False) -> dict[str, Any]:
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
        be used up. `attacks`, `attacks_of` (the release that was attacked by
        itself, if it is a former one), `attacks_unfinished`, `structure`, `risk_curve`.
    """
    found = findings(audit, covers_changes=covers_changes)
    title = TITLES.get(found[0].kind, found[0].says) if found else GOOD
    broken = bool(found) and found[0].is_broken
    return {
        "verdict": "broken" if broken else "short" if found else "good",
        "title": title.rstrip("."),
        "findings": msgspec.to_builtins(found),
        "guarantees": guarantees(audit, covers_changes=covers_changes),
        "decided_by": at(audit, "audit.checked.alpha_by"),
        "people": fewest_people(audit),
        "margin_until": at(audit, "sequence.margin_until"),
        # In one order, as private audits are written with their names sorted.
        "attacks": attacked(audit),
        "attacks_of": at(audit, "attacks.of"),
        "attacks_unfinished": unfinished(audit),
        "structure": structural(audit),
        "risk_curve": risk_curve(audit),
    }


def risk_curve(audit: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the risk curve that attacks found; None without one.

    Returns
    -------
    dict
        `ties` and `seeds`: the shares that are known, ascending. `points`: for each pair of them
        the share of people found. `control`: the greatest of a guess.
    """
    points = risk_points(audit)
    if not points:
        return None
    shares = {
        name: sorted({each["figures"][name] for each in points}) for name in ("ties", "seeds")
    }
    return {
        **shares,
        "control": max(each["control"] for each in points),
        "points": [
            {**each["figures"], **{name: each[name] for name in ("targets", "value", "interval")}}
            for each in points
        ],
    }


def describe_risk(curve: Mapping[str, Any] | None) -> str:
    """Return a risk curve in a few lines.

    Where draws differ, the least and the greatest.
    """
    if curve is None:
        return "risk      not measured: nobody is shown"
    heads = "".join(f"{ties:>10.0%}" for ties in curve["ties"])
    lines = [f"risk      people found by an attacker that knows of the true ties {heads}"]
    for seeds in curve["seeds"]:
        told = [_share_or_band(each) for each in curve["points"] if each["seeds"] == seeds]
        whom = f"and {seeds:.0%} of the people" if seeds else "and nobody"
        lines.append(f"          {whom:<55}{''.join(f'{text:>10}' for text in told)}")
    return "\n".join([*lines, f"          a guess among those of one kind: {curve['control']:.3f}"])


BAND: Final = 0.15
"""Width of an interval from which on it is told in place of the mean: draws differ."""


def _share_or_band(point: Mapping[str, Any]) -> str:
    low, high = point["interval"]
    return f"{low:.2f}-{high:.2f}" if high - low > BAND else f"{point['value']:.2f}"


def attacked(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an audit's attack results, each by its sharpest variant.

    `alpha` is what a claim "is sensitive" is told beside, where nothing is promised of it, and
    `without_target` what the best predictor finds that sees no release with the person.
    """
    names = ("measure", "targets", "value", "interval", "control", "promise", "is_broken")
    return [
        {
            "attack": name,
            "variant": result["attack"],
            **{each: result[each] for each in names},
            "alpha": at(result, "figures.alpha"),
            "without_target": result.get("without_target"),
        }
        for name, result in sharpest(results_of(audit)).items()
    ]


def structural(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return ANO-NET's measures: shares in classes of at least 2 and k, and share named."""
    names = ("true_2", "true_k", "shown_2", "shown_k")
    return [
        {
            "measure": result["attack"].removeprefix(f"{STRUCTURE}."),
            **{name: result["figures"][name] for name in names},
            "named": result["value"],
        }
        for result in results_of(audit)
        if result["attack"].startswith(f"{STRUCTURE}.")
    ]


def least_protected(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups with fewest real candidates, never by id."""
    rows = {}
    for kind in KINDS:
        bands = at(audit, f"privacy.{kind}") or []
        rows[kind] = [
            {
                "from": band["from"],
                "to": band["to"],
                "people": band["vertices"],
                "fewest_real": at(band, "k_real.min"),
                "share_below_k": at(band, "k_real.share"),
                "above_alpha": share(at(band, "alpha_real.above_alpha"), band["vertices"]),
            }
            for band in bands
        ]
    real = fewest_people(audit) or {}
    return {
        "people": at(audit, "privacy.all.vertices"),
        "fewest_real": real.get("min"),
        "risk_mean": at(audit, "privacy.all.k_real.risk_mean"),
        "below_k": real.get("below_k"),
        "above_alpha": sensitive_people(audit),
        "by_inserted_only": at(audit, "privacy.protected_by_inserted_only.vertices"),
        **rows,
    }


def waiting(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the release does not show yet.

    How much, and for how many releases at most.
    """
    one = "audit.figures.containment"
    rows = [
        ("People not shown", "cost.deleted_vertices", "sequence.withheld_age_max"),
        ("Ties hidden", "cost.deleted_edges", "sequence.held_edge_age_max"),
        ("of these, ties of people not shown", "cost.edges_of_withheld", None),
        ("People with another quasi-identifier than the true one", "sequence.held_values", None),
        (
            "People with other quasi-identifiers shown",
            "suppressed.people_with_other_quasi_identifiers",
            None,
        ),
        ("Sensitive values masked", "suppressed.sensitive_values", None),
        (
            "Ties of departed people still shown",
            "sequence.residual_edges",
            "sequence.residual_age_max",
        ),
    ]
    found = [
        {
            "what": words,
            "count": at(audit, path),
            "releases_max": None if age is None else at(audit, age),
        }
        for words, path, age in rows
        if at(audit, path) is not None
    ]
    median = at(audit, f"{one}.withheld_releases_median")
    if median is not None and found:
        found[0]["releases_median"] = median
    # Both count the same people; a sequence tells it better.
    names = [row["what"] for row in found]
    return [row for row in found if row["what"] != rows[4][0] or rows[3][0] not in names]


def cost(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cost in its parts, beside what other releases would cost."""
    parts = ("inserted_vertices", "deleted_vertices", "inserted_edges", "deleted_edges")
    figures, true = audit["cost"], at(audit, "usefulness.edges.true")
    return {
        "parts": {name: figures[name] for name in parts},
        "total": figures["total"],
        "k_copies": figures["k_copies"],
        "nothing": true,
        "edge_cost_share": at(audit, "usefulness.edges.cost_share"),
    }


def assessment(attacks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return an impact assessment's three questions, with attacks' answers."""
    return [
        {
            "risk": risk,
            "question": question,
            "attacks": [each["attack"] for each in attacks if each["attack"] in names],
            "answers": [answer(each) for each in attacks if each["attack"] in names],
        }
        for risk, (question, names) in ASSESSED.items()
    ]


def answer(attack: Mapping[str, Any]) -> str:
    """Return an attack's result beside baseline and bound, in words."""
    bound = text_of(attack["promise"], ".3f", "none")
    if attack["alpha"] is not None:
        bound += f"; alpha {attack['alpha']:.3f}"
    baseline = f"{attack['control']:.3f}"
    if attack["without_target"] is not None:
        baseline += f", without the target {attack['without_target']:.3f}"
    return f"{attack['variant']} {attack['value']:.3f} (baseline {baseline}, bound {bound})"


def _drift(told: ReleaseWithFigures) -> dict[str, Any]:
    """Return the few figures of a release that are followed over time."""
    audit = told.audit
    edges = at(audit, "usefulness.edges") or {}
    withheld, people = at(audit, "cost.deleted_vertices"), at(audit, "usefulness.vertices.true")
    return {
        "release_id": told.manifest.release_id,
        "nominal_time": told.manifest.nominal_time,
        "vertices": at(audit, "size.released.vertices"),
        "edges": at(audit, "size.released.edges"),
        "precision": edges.get("precision"),
        "recall": edges.get("recall"),
        "f1": edges.get("f1"),
        "f1_latest": at(audit, "freshness.latest.f1"),
        "new_ties_shown": at(audit, "freshness.ties.recent.shown"),
        "ended_ties_shown": at(audit, "freshness.ended.recent.shown"),
        "newcomers_shown": at(audit, "freshness.newcomers.recent.shown"),
        "edge_cost_share": edges.get("cost_share"),
        "below_k_real": share(
            at(fewest_people(audit), "below_k"), at(audit, "privacy.all.vertices")
        ),
        "fewest_candidates": at(audit, "audit.figures.published.candidates.min")
        or at(audit, "privacy.all.k_claimed.min"),
        "people_not_shown": share(withheld, people),
    }
