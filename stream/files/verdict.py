"""Findings on a release, by its private audit.

A release is good if nothing is found: every guarantee is kept, no attack exceeds its bound and none
is missing, and everybody has k candidates that are people.

Words may be changed, docs/report.md explains them. A release must not get better by a missing
figure: what was not measured is `open`, and `BOUNDED` lists the attacks without which it stays so
(tests/ktsafe/assess/report/test_verdict.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

import msgspec

from ktsafe.audit.cost import share
from ktsafe.audit.sequence.figures import ObjectCounts
from ktsafe.stream.files.audit_model import AttackResult, Audit, Candidates
from ktsafe.stream.files.releases_write import AUDIT

Kind = Literal["withdrawn", "guarantee", "attack", "people", "sensitive", "open"]
BROKEN: Final = frozenset({"withdrawn", "guarantee", "attack"})
"""Kinds of findings with which a release should not be in use."""
RISK_CURVE: Final = "risk_curve"

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
    """A failed or unresolved check, and what to do about it."""

    kind: Kind
    says: str
    do: str

    @property
    def is_broken(self) -> bool:
        """Whether it is withdrawn, unsafe, or exceeded by an attack."""
        return self.kind in BROKEN


UNREAD: Final = Finding(
    "open",
    "The private audit cannot be read, so whether it is safe is not known.",
    "Put its folder back from a backup that was taken after the release.",
)


class Guarantee(msgspec.Struct, frozen=True):
    """A guarantee: `worst` figure, `bound`, share `kept`, verified `by`."""

    guarantee: str
    worst: float
    bound: float
    kept: float | None
    by: str


def findings(audit: Audit, *, covers_changes: bool = False) -> list[Finding]:
    """Return the failed and unresolved checks of a release, gravest first.

    Parameters
    ----------
    audit:
        The private audit.
    covers_changes:
        Whether it is promised that at least k change alike.

    """
    why = audit.withdrawn
    each = {
        "withdrawn": [] if why is None else [f"The owner withdrew this release: {why}"],
        "guarantee": _broken_guarantees(audit, covers_changes=covers_changes),
        "attack": _broken_attacks(audit),
        "people": _too_few_people(audit),
        "sensitive": _too_sensitive(audit),
        "open": _open(audit),
    }
    return [Finding(kind, says, words) for kind, words in DO.items() for says in each[kind]]


def wanting(audit: Audit) -> list[Finding]:
    """Return the failed checks of a release."""
    return [each for each in findings(audit) if each.kind != "open"]


def guarantees(audit: Audit, *, covers_changes: bool = False) -> list[Guarantee]:
    """Return each guarantee of which the audit tells."""
    k, everybody = audit.params.k, audit.privacy.all
    people = everybody.vertices
    strict = "strict verifier, by the published bytes"
    auditor = "independent auditor, over all releases of the sequence"
    words = "Candidates for everybody in this release"
    asked: list[tuple[str, Candidates, int, str]] = [(words, everybody.k_claimed, people, strict)]
    if audit.published:
        over_all = audit.published.candidates
        asked.append(("Candidates over all releases", over_all, over_all.vertices, auditor))
    if covers_changes and (alike := audit.alike):
        asked.append(("Candidates that change alike", alike, alike.vertices, auditor))
    rows = [
        _guarantee(words, found.min, k, found.below_k, whole, by)
        for words, found, whole, by in asked
        if found.min is not None
    ]
    sensitive = everybody.alpha
    if sensitive.max is not None:
        words = "Sensitive share of anybody's candidates"
        bound = round(float(Fraction(audit.params.alpha)), 6)
        above = sensitive.above_alpha
        rows.append(_guarantee(words, sensitive.max, bound, above, people, strict))
    return rows


def _guarantee(
    words: str, worst: float, bound: float, broken: int, whole: int | None, by: str
) -> Guarantee:
    kept = 1.0 if not broken else share((whole or 0) - broken, whole)
    return Guarantee(words, worst, bound, kept, by)


def risk_points(audit: Audit) -> list[AttackResult]:
    """Return the points of the risk curve among attack results."""
    return [each for each in audit.attacks.results if each.name == RISK_CURVE and each.targets]


def unfinished(audit: Audit) -> list[str]:
    """Return the attacks that did not end, and bounded ones not run."""
    run = {each.name for each in audit.attacks.results}
    named = [*BOUNDED, *audit.attacks.unfinished]
    return list(dict.fromkeys(name for name in named if name not in run))


def fewest_people(audit: Audit) -> Candidates | None:
    """Return how many candidates are people; None where it is not known.

    Those over all releases of a sequence, where they are told: they are fewer.
    """
    each_one: list[Candidates] = [audit.privacy.all.k_real]
    if audit.published:
        each_one.append(audit.published.candidates_real_leavers_known)
    known = [each for each in each_one if each.min is not None]
    return max(known, key=lambda each: (each.below_k, -(each.min or 0)), default=None)


def _broken_guarantees(audit: Audit, *, covers_changes: bool) -> Iterator[str]:
    rows = guarantees(audit, covers_changes=covers_changes)
    for row in rows:
        if row.kept != 1:
            yield f"{row.guarantee}: {row.worst:.3g}, beyond the bound {row.bound:.3g}."
    if audit.audit is not None and not audit.audit.safe and all(row.kept == 1 for row in rows):
        yield "The auditor does not find the sequence safe."


def _broken_attacks(audit: Audit) -> Iterator[str]:
    for each in audit.attacks.results:
        if each.is_broken:
            low, high = each.interval
            yield (
                f"The attack {each.attack} finds {each.value:.3f} "
                f"({low:.3f}-{high:.3f}), above its bound {each.promise:.3f}."
            )


def _too_few_people(audit: Audit) -> Iterator[str]:
    real, people, k = fewest_people(audit), audit.privacy.all.vertices, audit.params.k
    if people == 0:
        return
    if real is None:
        yield "How many candidates are people is not known."
    elif real.below_k:
        whole = real.vertices if isinstance(real, ObjectCounts) else people
        yield (
            f"{real.below_k:,} of {whole:,} people have fewer than {k} "
            f"candidates that are people, the fewest {real.min}."
        )


def sensitive_people(audit: Audit) -> int:
    """Return the number of people beyond alpha among candidates that are people.

    Over all releases of a sequence, where that is told, or in this one: whichever is more.
    """
    here = audit.privacy.all.alpha_real.above_alpha
    over_all = audit.published
    return max(here, over_all.alpha_real_leavers_known.above_alpha) if over_all else here


def _too_sensitive(audit: Audit) -> Iterator[str]:
    if above := sensitive_people(audit):
        yield (
            f"For {above:,} people the sensitive share of the candidates that are people is above "
            f"alpha, {audit.params.alpha}."
        )


def _open(audit: Audit) -> Iterator[str]:
    if not audit.attacks.results:
        yield "No attack was run."
    elif missing := unfinished(audit):
        yield f"Attacks that did not end, or were not run: {', '.join(missing)}."


def found_wanting(audit_dir: Path) -> dict[str, list[Finding]]:
    """Return the releases with a failed check, in order.

    Parameters
    ----------
    audit_dir:
        The private folder of audits, one folder for each release.
    """
    found = {}
    for path in sorted(audit_dir.glob(f"*/{AUDIT}")):
        try:
            told = wanting(Audit.read(path))
        except (OSError, ValueError, msgspec.DecodeError):
            told = [UNREAD]
        if told:
            found[path.parent.name] = told
    return found
