"""What a report says, as one JSON-ready mapping, out of private audits that exist already.

Nothing is measured here. A part that no audit tells is None or empty, and the page says so. No id
of a person and no attribute value is among the figures: they are per group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from ktsafe.stream.files.freshness_figures import worth_over_time
from ktsafe.stream.files.nested import at, share
from ktsafe.stream.files.release_figures import sharpest, watched_of
from ktsafe.stream.files.releases_read import Manifest
from ktsafe.stream.report.misleading import concluded
from ktsafe.stream.report.score import score
from ktsafe.stream.report.words import ASSESSED, KINDS, NOT_COVERED, parameters

FORMAT: Final = 1


@dataclasses.dataclass(frozen=True)
class Told:
    """What is known of one release.

    Attributes
    ----------
    audit:
        The private audit, with `utility` and `attacks` where those were measured.
    """

    manifest: Manifest
    audit: Mapping[str, Any]

    def heading(self, edition: str) -> dict[str, Any]:
        """Return what both editions begin with: which release it is, and what it promises."""
        manifest = self.manifest
        return {
            "format": FORMAT,
            "edition": edition,
            "release_id": manifest.release_id,
            "sequence_id": manifest.sequence_id,
            "nominal_time": manifest.nominal_time,
            "guarantee": msgspec.to_builtins(manifest.guarantee),
            "parameters": parameters(self.audit["params"], manifest.guarantee.w),
        }


def content(history: Sequence[Told], written: str) -> dict[str, Any]:
    """Return the private report of the last of some releases, beside all before it.

    Parameters
    ----------
    history:
        Releases of one sequence in order of publication, at least one.
    written:
        When the report is made, as text.
    """
    last = history[-1]
    audit = last.audit
    # In one order, as private audits are written with their names sorted.
    attacks, mix = attacked(audit), at(audit, "utility.attribute_mix")
    return {
        **last.heading("private"),
        "written": written,
        "releases": len(history),
        "size": audit["size"],
        "safety": {
            **kept(audit, covers_changes=last.manifest.guarantee.cover),
            "attacks": attacks,
            "attacks_unfinished": at(audit, "attacks.unfinished") or [],
        },
        "utility": {
            "usefulness": audit["usefulness"],
            "f1_afresh": at(audit, "afresh.edges.f1"),
            **score(audit["usefulness"], audit.get("utility")),
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
        "assessment": assessment(attacks),
        "not_covered": list(NOT_COVERED),
    }


def kept(audit: Mapping[str, Any], *, covers_changes: bool = False) -> dict[str, Any]:
    """Return what was promised, for how many it holds, and which program verified it.

    Parameters
    ----------
    covers_changes:
        Whether it is promised that at least k change alike.

    Returns
    -------
    dict
        `holds`: whether every promise is kept for everybody. `promises`: `promise`, `worst`
        figure, `bound`, share `kept` of those it concerns, `by` whom it was verified.
    """
    k, alpha = (audit["params"][name] for name in ("k", "alpha"))
    people = at(audit, "privacy.all.vertices")
    strict = "strict verifier, by the published bytes"
    auditor = "independent auditor, over all releases of the sequence"
    rows = [
        ("Candidates for everybody in this release", "privacy.all.k_claimed", people, k, strict),
        ("Candidates over all releases", "audit.figures.published.candidates", None, k, auditor),
    ]
    if covers_changes:
        changes = "audit.figures.changes"
        told = "k_delta_all" if at(audit, f"{changes}.k_delta_all") else "k_delta"
        rows.append(("Candidates that change alike", f"{changes}.{told}", None, k, auditor))
    promises: list[dict[str, Any]] = []
    for words, path, asked, bound, by in rows:
        if (found := at(audit, path)) and found.get("min") is not None:
            whole = found.get("vertices", asked)
            promises.append(_promise(words, found["min"], bound, found["below_k"], whole, by))
    sensitive = at(audit, "privacy.all.alpha")
    if sensitive and sensitive["max"] is not None:
        promises.append(
            _promise(
                "Sensitive share of anybody's candidates",
                sensitive["max"],
                round(float(Fraction(alpha)), 6),
                sensitive["above_alpha"],
                people,
                strict,
            )
        )
    judged = at(audit, "audit.safe")
    return {
        "holds": all(row["kept"] == 1 for row in promises) and judged is not False,
        "decided_by": at(audit, "audit.checked.alpha_by"),
        "promises": promises,
    }


def _promise(
    words: str, worst: float, bound: float, broken: int, whole: int | None, by: str
) -> dict[str, Any]:
    found = 1.0 if not broken else share((whole or 0) - broken, whole)
    return {"promise": words, "worst": worst, "bound": bound, "kept": found, "by": by}


def attacked(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the attacks in an audit found, each by its sharpest variant."""
    results = at(audit, "attacks.results") or at(audit, "best_guesses.results") or []
    names = ("measure", "targets", "value", "interval", "control", "promise", "is_broken")
    return [
        {"attack": name, "variant": result["attack"], **{each: result[each] for each in names}}
        for name, result in sharpest(results).items()
    ]


def least_protected(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return which kinds of people have the fewest real candidates, by kind and never by id."""
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
    real = at(audit, "privacy.all.k_real") or {}
    return {
        "people": at(audit, "privacy.all.vertices"),
        "fewest_real": real.get("min"),
        "below_k": real.get("below_k"),
        "above_alpha": at(audit, "privacy.all.alpha_real.above_alpha"),
        "by_inserted_only": at(audit, "privacy.protected_by_inserted_only.vertices"),
        **rows,
    }


def waiting(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the release does not show yet: how much, and for how many releases at most."""
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
    """Return the three questions of an impact assessment, each with the attacks that ask it."""
    return [
        {
            "risk": risk,
            "question": question,
            "attacks": [each["attack"] for each in attacks if each["attack"] in names],
        }
        for risk, (question, names) in ASSESSED.items()
    ]


def _drift(told: Told) -> dict[str, Any]:
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
        "below_k_real": at(audit, "privacy.all.k_real.share"),
        "fewest_candidates": at(audit, "audit.figures.published.candidates.min")
        or at(audit, "privacy.all.k_claimed.min"),
        "people_not_shown": share(withheld, people),
    }
