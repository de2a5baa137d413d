"""Age: whether the time for which a tie has been shown tells true ties from inserted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.attacks.common.history import History
from ktsafe.attacks.common.result import Result, auc_result


def age(history: History) -> list[Result]:
    """Return how well age ranks the ties of the last release, true ones above inserted ones.

    The age of a tie is the number of releases in succession, the last one included, that show it.
    An area below one half tells as much as one that is as far above.

    Returns
    -------
    list of Result
        `age`, an AUC; nothing with fewer than two releases.
    """
    if len(history.cases) < 2:
        return []
    keys = [_tie_keys(history, i) for i in range(len(history.cases))]
    ages = np.zeros(len(keys[-1]))
    lasts = np.ones(len(keys[-1]), dtype=np.bool_)
    for shown in reversed(keys):
        lasts &= np.isin(keys[-1], shown)
        ages += lasts
    return [auc_result("age", ages, history.cases[-1].is_true_edge)]


def _tie_keys(history: History, i: int) -> NDArray[np.int64]:
    """Return a number for each tie of release i, the same in every release."""
    ends = history.ids[i][history.cases[i].released.edges].astype(np.int64).reshape(-1, 2)
    low, high = ends.min(axis=1, initial=history.n_ids), ends.max(axis=1, initial=0)
    keys: NDArray[np.int64] = low * history.n_ids + high
    return keys
