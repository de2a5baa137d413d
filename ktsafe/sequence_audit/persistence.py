"""Whether ties give themselves away by how long they last.

True ties and inserted ones should not differ in age or survival. Both are compared by the area
under the ROC curve: the chance that a random true tie is older (survives better) than a random
inserted one, ties counting half. 0.5 tells nothing; 0 and 1 tell all.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit._profiles_core import difference
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend
from ktsafe.sequence_audit.profiles import among, runs

Whole = TypeVar("Whole", bound=np.signedinteger[Any])

GONE_MAX = 100
"""After so many releases without it a tie is forgotten: it counts as new if it comes back."""


class EdgeAges(CopyOnExtend):
    """Ages of the published ties, carried from release to release.

    An age is the number of releases that show the tie, this one included, whether or not there were
    gaps: a tie that comes back again and again tells as much as one that stays. Only a gap of more
    than `GONE_MAX` releases begins it anew, so memory does not grow with the releases.
    """

    def __init__(self) -> None:
        self._release = 0
        self._keys = np.zeros(0, dtype=np.int64)
        self._ever = np.zeros(0, dtype=np.int64)
        self._ages = np.zeros(0, dtype=np.int32)
        self._last = np.zeros(0, dtype=np.int32)
        self._is_true: NDArray[np.bool_] | None = None
        self._survival = np.zeros((2, 2), dtype=np.int64)

    def add(self, keys: NDArray[np.int64], is_true: NDArray[np.bool_] | None) -> dict[str, Any]:
        """Take the ties of one more release.

        Parameters
        ----------
        keys:
            int64, shape (m,), ascending: a number for each tie.
        is_true:
            bool, shape (m,): whether it was a true tie at this release; None if nobody says.

        Returns
        -------
        dict
            `age_auc` of this release and `survival_auc` over all releases so far, None where
            there is nothing to compare.
        """
        gained, lost = difference(keys, self._keys) if len(self._keys) else (keys, keys[:0])
        if self._is_true is not None:
            cells = 2 * self._is_true + ~among(self._keys, lost)
            self._survival = self._survival + np.bincount(cells, minlength=4).reshape(2, 2)
        new = gained[~among(gained, self._ever)] if len(self._ever) else gained
        is_new = np.zeros(len(self._ever) + len(new), dtype=np.bool_)
        for here in runs(len(new)):
            place = np.searchsorted(self._ever, new[here])
            is_new[place + np.arange(here.start, here.start + len(place))] = True
        # Whatever is shown was shown once: as many are the same ones.
        ever = _mixed(is_new, new, self._ever) if len(is_new) > len(keys) else keys
        ages, last = _mixed(is_new, 0, self._ages), _mixed(is_new, -1, self._last)
        # Keys and what was ever shown both ascend, so a flag for each says which are shown now.
        is_now = last == self._release - 1
        is_now[np.searchsorted(ever, lost)] = False
        for here in runs(len(gained)):
            is_now[np.searchsorted(ever, gained[here])] = True
        ages[is_now] += 1
        last[is_now] = self._release
        shown = ages[is_now]
        is_kept = self._release - last < GONE_MAX
        if not is_kept.all():
            ever, ages, last = ever[is_kept], ages[is_kept], last[is_kept]
        self._ever, self._ages, self._last = ever, ages, last
        self._keys, self._is_true = keys, is_true
        self._release += 1
        return {
            "age_auc": None if is_true is None else _auc(shown[is_true], shown[~is_true]),
            "survival_auc": _survival_auc(self._survival),
        }


def _mixed(
    is_new: NDArray[np.bool_], new: NDArray[Whole] | int, old: NDArray[Whole]
) -> NDArray[Whole]:
    """Return new and old entries, each in its order, in their places."""
    mixed = np.empty(len(is_new), dtype=old.dtype)
    mixed[is_new], mixed[~is_new] = new, old
    return mixed


def _auc(positive: NDArray[np.int32], negative: NDArray[np.int32]) -> float | None:
    """Return the chance that positives exceed negatives, ties half."""
    if not len(positive) or not len(negative):
        return None
    top = int(max(positive.max(), negative.max())) + 1
    more, less = np.bincount(positive, minlength=top), np.bincount(negative, minlength=top)
    below = np.cumsum(less) - less
    wins = int(more @ (2 * below + less))
    area: float = wins / (2 * len(positive) * len(negative))
    return area


def _survival_auc(table: NDArray[np.int64]) -> float | None:
    """Return the area for rows (inserted, true) and columns (gone, survived)."""
    (gone_inserted, kept_inserted), (gone_true, kept_true) = table.tolist()
    inserted, true = gone_inserted + kept_inserted, gone_true + kept_true
    if not inserted or not true:
        return None
    half = kept_true * inserted - kept_inserted * true
    area: float = 0.5 + half / (2 * inserted * true)
    return area
