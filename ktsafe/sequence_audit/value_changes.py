"""Changed values: equally changed candidates, and revealed departures.

A release shows one value of the sensitive attribute for every vertex. (Whose quasi-identifiers
change alone has no candidates, which the candidate sets find by themselves.) Where members of a
cohort exchange values it is not that of the vertex's own owner. k_value(v) at a
release counts the members of CS_all(v) that show the same value before and the same one after as v
does; like k_delta it is judged anew whenever candidates become fewer.

A person's own update is shown when it happens, so k_value is a figure. But nothing may change
because an owner left. So a vertex that shows the value of somebody who left may change it only

- with at least k candidates that change alike, now and as later releases leave them, or
- to the missing value, in the same release as a candidate that shows the value of somebody who is
  not known to have left: that is the company which a hidden value keeps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import MISSING
from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit import figures
from ktsafe.sequence_audit.audited_release import AuditedRelease, Numbering, grown
from ktsafe.sequence_audit.candidate_sets import CandidateSets
from ktsafe.sequence_audit.change_history import ChangeHistory, alike
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend

NEVER_SHOWN = -1


@dataclasses.dataclass(frozen=True, eq=False)
class ValueChanges:
    """What changed at one release.

    Attributes
    ----------
    k_value:
        int64: for each vertex that shows another value than before, the candidates that changed
        alike.
    telling:
        int64: the vertices, ascending, that show a leaver's value and whose change is not covered.
    uncovered:
        int64: those, ascending, whose change at a former release was covered until now.
    """

    k_value: NDArray[np.int64]
    telling: NDArray[np.int64]
    uncovered: NDArray[np.int64]


class ValueHistory(CopyOnExtend):
    """The value that each vertex showed last, and every change of one."""

    def __init__(self) -> None:
        self._history = ChangeHistory()
        # Shared by copies: a number, once given, means the same for ever.
        self._texts = Numbering([MISSING])
        self._value = np.zeros(0, dtype=np.int64)
        self._changed_after = np.zeros(0, dtype=np.bool_)
        self._has_texts: bool | None = None

    def add(
        self,
        release: AuditedRelease,
        vertices: NDArray[np.int64],
        has_left: NDArray[np.bool_],
        candidates: CandidateSets,
        k: int,
    ) -> ValueChanges:
        """Take the values of one more release.

        Parameters
        ----------
        vertices:
            int64, shape (n,): the number of each of the release's vertices.
        has_left:
            bool, by vertex number: whether the person whose value it shows is known to have left.
        candidates:
            With this release added.
        """
        before = grown(self._value, len(has_left), NEVER_SHOWN)
        if self._has_texts not in (None, release.sensitive_texts is not None):
            before = np.full_like(before, NEVER_SHOWN)
        self._has_texts = release.sensitive_texts is not None
        now = self._texts.of(_shown(release))
        is_changed = (before[vertices] != NEVER_SHOWN) & (before[vertices] != now)
        changed = vertices[is_changed]
        after = before.copy()
        after[vertices] = now
        self._value = after
        order = np.argsort(changed)
        changed = changed[order]
        pairs = np.column_stack((before[changed], after[changed]))
        label = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        ones = np.ones((len(changed), 1), dtype=np.int64)
        k_value = alike(candidates, changed, label, ones)[:, 0]
        in_company = _in_company(changed, after[changed] == 0, has_left, candidates)
        is_free = has_left[changed] & ~in_company
        held = grown(self._changed_after, len(has_left), 0).copy()
        held[changed[is_free]] = True
        self._changed_after = held
        self._history.add(changed, label)
        lost = self._history.judge(candidates, k)
        return ValueChanges(k_value, changed[is_free & (k_value < k)], lost[held[lost]])

    def figures(self, found: ValueChanges, params: PrivacyParams) -> dict[str, Any]:
        """Summarize the changes of the last release, and all of them."""
        return {
            "k_value": figures.counts(found.k_value, params.k),
            "k_value_all": figures.counts(self._history.k_delta, params.k),
        }


def _shown(release: AuditedRelease) -> Sequence[str | bool]:
    """Return what each vertex shows.

    Its value, or if that is not given whether it is sensitive.
    """
    if release.sensitive_texts is not None:
        return release.sensitive_texts
    flags: list[bool] = release.is_sensitive.tolist()
    return flags


def _in_company(
    changed: NDArray[np.int64],
    is_missing: NDArray[np.bool_],
    has_left: NDArray[np.bool_],
    candidates: CandidateSets,
) -> NDArray[np.bool_]:
    """Return vertices that lost their value in company.

    A candidate that lost it shows a person that may be there.
    """
    hiding = changed[is_missing & ~has_left[changed]]
    by_atom = candidates.over_candidates(candidates.per_atom(hiding))
    found: NDArray[np.bool_] = is_missing & (by_atom[candidates.atom_of[changed]] > 0)
    return found
