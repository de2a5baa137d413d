"""What is wrong with a release, by its private audit: guarantees, attacks, people, what is open.

A release is good if nothing is found: every guarantee is kept, no attack exceeds its bound and none
is missing, and everybody has k candidates that are people.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ktsafe.stream.files.nested import at, share
from ktsafe.stream.files.releases_write import AUDIT

Kind = Literal["withdrawn", "guarantee", "attack", "people", "sensitive", "open"]
BROKEN: Final = frozenset({"withdrawn", "guarantee", "attack"})
"""Kinds of findings with which a release should not be in use."""
RISK_CURVE: Final = "risk_curve"
WITHDRAWN: Final = "withdrawn"
"""Key of the reason under which a report adds it to the audit of a withdrawn release."""

BOUNDED: Final = ("one_hop", "sensitive_inference", "denoised", "two_hops")
"""Attacks on a single release that have a bound: without one of them the judgement is open."""

DO: Final[Mapping[Kind, str]] = {
    "withdrawn": "Tell those who have a copy to delete it.",
    "guarantee": "Do not publish it. If it is out: stop the service, keep state and releases, and "
    "report the defect.",
    "attack": "Name fewer quasi-identifiers or a larger k, and begin a new sequence. Tell those "
    "who have the release. `[attack] hold` withholds such releases.",
    "people": "A larger k, in sequences a greater `[privacy] margin`, leaves room; a new sequence "
    "begins with people only.",
    "sensitive": "A smaller alpha, in sequences a greater `[privacy] margin`, leaves room; a new "
    "sequence begins with people only.",
    "open": "`ktsafe audit --page` with --truth runs what is missing; a larger `[attack] budget` "
    "does in the service.",
}
"""By kind of finding, the gravest first: what to do about it."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong with a release, or open: what it is, and what to do."""

    kind: Kind
    says: str
    do: str

    @property
    def is_broken(self) -> bool:
        """Whether it is withdrawn, a guarantee is broken, or an attack exceeds its bound."""
        return self.kind in BROKEN


def findings(audit: Mapping[str, Any], *, covers_changes: bool = False) -> list[Finding]:
    """Return what is wrong with a release and what is open, the gravest first.

    Parameters
    ----------
    audit:
        The private audit.
    covers_changes:
        Whether it is promised that at least k change alike.

    Examples
    --------
    >>> audit = {"params": {"k": 10, "alpha": "1/5"}}
    >>> [found.kind for found in findings(audit)]
    ['people', 'open']
    """
    why = audit.get(WITHDRAWN)
    each = {
        "withdrawn": [] if why is None else [f"The owner withdrew this release: {why}"],
        "guarantee": _broken_guarantees(audit, covers_changes=covers_changes),
        "attack": _broken_attacks(audit),
        "people": _too_few_people(audit),
        "sensitive": _too_sensitive(audit),
        "open": _open(audit),
    }
    return [Finding(kind, says, words) for kind, words in DO.items() for says in each[kind]]


def wanting(audit: Mapping[str, Any]) -> list[Finding]:
    """Return what a release was found wanting in: all `findings` but what is open."""
    told = findings(audit) if "params" in audit else []
    return [each for each in told if each.kind != "open"]


def guarantees(audit: Mapping[str, Any], *, covers_changes: bool = False) -> list[dict[str, Any]]:
    """Return each guarantee: its `worst` figure, `bound`, share `kept`, and `by` whom verified."""
    k, alpha = (audit["params"][name] for name in ("k", "alpha"))
    people = at(audit, "privacy.all.vertices")
    strict = "strict verifier, by the published bytes"
    auditor = "independent auditor, over all releases of the sequence"
    asked = [
        ("Candidates for everybody in this release", "privacy.all.k_claimed", people, k, strict),
        ("Candidates over all releases", "audit.figures.published.candidates", None, k, auditor),
    ]
    if covers_changes:
        changes = "audit.figures.changes"
        told = "k_delta_all" if at(audit, f"{changes}.k_delta_all") else "k_delta"
        asked.append(("Candidates that change alike", f"{changes}.{told}", None, k, auditor))
    rows: list[dict[str, Any]] = []
    for words, path, whole, bound, by in asked:
        if (found := at(audit, path)) and found.get("min") is not None:
            of = found.get("vertices", whole)
            rows.append(_guarantee(words, found["min"], bound, found["below_k"], of, by))
    sensitive = at(audit, "privacy.all.alpha")
    if sensitive and sensitive["max"] is not None:
        words = "Sensitive share of anybody's candidates"
        bound = round(float(Fraction(alpha)), 6)
        worst, above = sensitive["max"], sensitive["above_alpha"]
        rows.append(_guarantee(words, worst, bound, above, people, strict))
    return rows


def _guarantee(
    words: str, worst: float, bound: float, broken: int, whole: int | None, by: str
) -> dict[str, Any]:
    kept = 1.0 if not broken else share((whole or 0) - broken, whole)
    return {"guarantee": words, "worst": worst, "bound": bound, "kept": kept, "by": by}


def results_of(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what attacks found, every variant."""
    found: list[dict[str, Any]] = (
        at(audit, "attacks.results") or at(audit, "best_guesses.results") or []
    )
    return found


def risk_points(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of the risk curve among what attacks found; empty where nobody is shown."""
    return [
        each
        for each in results_of(audit)
        if each["attack"].startswith(f"{RISK_CURVE}.") and each["targets"]
    ]


def unfinished(audit: Mapping[str, Any]) -> list[str]:
    """Return the attacks that did not end, and those with a bound that were not run."""
    run = {each["attack"].partition(".")[0] for each in results_of(audit)}
    named = [*BOUNDED, *(at(audit, "attacks.unfinished") or [])]
    return list(dict.fromkeys(name for name in named if name not in run))


def fewest_people(audit: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how many candidates are people: `min`, `below_k`; None where it is not known.

    Those over all releases of a sequence, where they are told: they are fewer.
    """
    found = [
        at(audit, "privacy.all.k_real"),
        at(audit, "audit.figures.published.candidates_real_leavers_known"),
    ]
    known = [each for each in found if each and each.get("min") is not None]
    return max(known, key=lambda each: (each["below_k"], -each["min"]), default=None)


def _broken_guarantees(audit: Mapping[str, Any], *, covers_changes: bool) -> Iterator[str]:
    rows = guarantees(audit, covers_changes=covers_changes)
    for row in rows:
        if row["kept"] != 1:
            yield f"{row['guarantee']}: {row['worst']:.3g}, beyond the bound {row['bound']:.3g}."
    if at(audit, "audit.safe") is False and all(row["kept"] == 1 for row in rows):
        yield "The auditor does not find the sequence safe."


def _broken_attacks(audit: Mapping[str, Any]) -> Iterator[str]:
    for each in results_of(audit):
        if each["is_broken"]:
            low, high = each["interval"]
            yield (
                f"The attack {each['attack']} finds {each['value']:.3f} "
                f"({low:.3f}-{high:.3f}), above its bound {each['promise']:.3f}."
            )


def _too_few_people(audit: Mapping[str, Any]) -> Iterator[str]:
    real, people = fewest_people(audit), at(audit, "privacy.all.vertices")
    k = audit["params"]["k"]
    if people == 0:
        return
    if real is None:
        yield "How many candidates are people is not known."
    elif real["below_k"]:
        yield (
            f"{real['below_k']:,} of {real.get('vertices', people):,} people have fewer than {k} "
            f"candidates that are people, the fewest {real['min']}."
        )


def sensitive_people(audit: Mapping[str, Any]) -> int | None:
    """Return for how many people more than alpha of the candidates that are people is sensitive.

    Over all releases of a sequence, where that is told, or in this one: whichever is more. None
    where it is not known.
    """
    found = [
        at(audit, "privacy.all.alpha_real.above_alpha"),
        at(audit, "audit.figures.published.alpha_real_leavers_known.above_alpha"),
    ]
    return max((each for each in found if each is not None), default=None)


def _too_sensitive(audit: Mapping[str, Any]) -> Iterator[str]:
    if above := sensitive_people(audit):
        yield (
            f"For {above:,} people the sensitive share of the candidates that are people is above "
            f"alpha, {audit['params']['alpha']}."
        )


def _open(audit: Mapping[str, Any]) -> Iterator[str]:
    if not results_of(audit):
        yield "No attack was run."
    elif missing := unfinished(audit):
        yield f"Attacks that did not end, or were not run: {', '.join(missing)}."


def found_wanting(audit_dir: Path) -> dict[str, list[Finding]]:
    """Return the releases with a broken guarantee, attack or count of people, in order.

    Parameters
    ----------
    audit_dir:
        The private folder of audits, one folder for each release. What cannot be read is left out.
    """
    found = {}
    for path in sorted(audit_dir.glob(f"*/{AUDIT}")):
        try:
            told = wanting(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if told:
            found[path.parent.name] = told
    return found
