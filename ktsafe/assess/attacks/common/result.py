"""Result of an attack: a figure with interval, control and bound.

Fields are read again from private audits (`stream.files.audit_model`): add optional ones. `promise`
decides whether a release is found wanting. Intervals and areas are compared in
tests/ktsafe/assess/attacks/test_result.py.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.nearest import Standing
from ktsafe.params import PrivacyParams

Measure = Literal["share", "auc"]
Z = 1.959963984540054
"""Standard normal quantile of a two-sided interval of 95%."""


@dataclasses.dataclass(frozen=True)
class Result:
    """One figure of one attack on one release.

    Attributes
    ----------
    attack:
        Name of the attack and its variant, such as "one_hop.joint".
    measure:
        "share": of `targets`, the expected share that the attack gets right. "auc": the chance
        that the attack ranks a true case above a false one; .5 tells nothing.
    targets:
        How many people, vertices or ties are attacked.
    value, low, high:
        The figure and its interval of 95% (`wilson`, `hanley_mcneil`).
    control:
        The same figure for an attacker without this knowledge.
    promise:
        The bound that the release promises for this figure; None: nothing is promised.
    figures:
        Further figures of the attack, by name.
    bands:
        The share among targets of a band of degrees or of class sizes: band to (targets, share).
        Never by id or attribute value.
    without_target:
        The same figure of the best predictor without the target, which sees no release with the
        person in it; None: there is none.
    """

    attack: str
    measure: Measure
    targets: int
    value: float
    low: float
    high: float
    control: float
    promise: float | None = None
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    bands: Mapping[str, tuple[int, float]] = dataclasses.field(default_factory=dict)
    without_target: float | None = None

    @property
    def is_broken(self) -> bool:
        """Whether even the lower end of the interval exceeds the promise."""
        return self.promise is not None and self.low > self.promise

    def to_mapping(self) -> dict[str, Any]:
        """Return the result as JSON-ready values, figures with six digits."""
        return {
            "attack": self.attack,
            "measure": self.measure,
            "targets": self.targets,
            "value": _rounded(self.value),
            "interval": [_rounded(self.low), _rounded(self.high)],
            "control": _rounded(self.control),
            "without_target": _told(self.without_target),
            "promise": _told(self.promise),
            "is_broken": self.is_broken,
            "figures": {name: _rounded(x) for name, x in self.figures.items()},
            "bands": {
                band: {"targets": n, "share": _rounded(x)} for band, (n, x) in self.bands.items()
            },
        }


def share_result(
    attack: str,
    chances: NDArray[np.float64],
    *,
    control: float,
    promise: float | None = None,
    figures: Mapping[str, float] | None = None,
    bands: Mapping[str, tuple[int, float]] | None = None,
    without_target: float | None = None,
) -> Result:
    """Return the attack's result with target i right by chance `chances[i]`.

    The value is the exact expectation, nothing is drawn. Its interval takes the expected successes
    for counted ones; a count would vary more, so the interval is no narrower than the figure's own.
    """
    n = len(chances)
    hits = float(chances.sum())
    low, high = wilson(hits, n)
    value = hits / n if n else 0.0
    return Result(
        attack,
        "share",
        n,
        value,
        low,
        high,
        control,
        promise,
        dict(figures or {}),
        bands or {},
        without_target,
    )


def standing_result(
    attack: str,
    params: PrivacyParams,
    standing: Standing,
    *,
    control: float,
    bands: Mapping[str, tuple[int, float]] | None = None,
    is_promised: bool = True,
) -> Result:
    """Return the share of targets found by naming the nearest candidate.

    It should be within 1/k.

    Its `figures`:

    - `best_rank_guess`, `best_rank`: the share found by naming the r-th nearest, for the best r of
      1..3 k, which an attacker would have to know;
    - `k_near_below_k`, `k_near_median`: candidates at least as near as the target's own place: the
      share of targets with fewer than k, and the median;
    - `greatest`: the greatest chance for a single target.
    """
    chances = standing.chances
    rank, share = standing.best_rank(3 * params.k)
    some = len(chances) > 0
    return share_result(
        attack,
        chances,
        control=control,
        promise=1 / params.k if is_promised else None,
        figures={
            "best_rank_guess": share,
            "best_rank": rank,
            "k_near_below_k": float((standing.near < params.k).mean()) if some else 0.0,
            "k_near_median": float(np.median(standing.near)) if some else 0.0,
            "greatest": float(chances.max(initial=0)),
        },
        bands=bands,
    )


def auc_result(
    attack: str,
    scores: NDArray[np.float64],
    is_true: NDArray[np.bool_],
    *,
    control: float = 0.5,
    figures: Mapping[str, float] | None = None,
    without_target: float | None = None,
) -> Result:
    """Return how well `scores` rank true cases above false ones.

    .5 where there is one kind only.

    The control is .5 unless it is given: a score that knows nothing.
    """
    value = area_under_curve(scores, is_true)
    positives = int(is_true.sum())
    low, high = hanley_mcneil(value, positives, len(is_true) - positives)
    more = {"prior": positives / len(is_true) if len(is_true) else 0.0, **(figures or {})}
    return Result(
        attack,
        "auc",
        len(is_true),
        value,
        low,
        high,
        control,
        figures=more,
        without_target=without_target,
    )


def inside_result(
    attack: str,
    scores: NDArray[np.float64],
    is_true: NDArray[np.bool_],
    group: NDArray[np.int32],
) -> Result:
    """Return how well `scores` rank true above false *within a group*.

    Groups count by their pairs of a true and a false case; the others have none and are no targets.
    """
    of_group = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    area = spread = 0.0
    pairs = targets = trues = 0
    for members in of_group:
        positives = int(is_true[members].sum())
        negatives = len(members) - positives
        if positives and negatives:
            here, weight = (
                area_under_curve(scores[members], is_true[members]),
                positives * negatives,
            )
            area, pairs = area + weight * here, pairs + weight
            spread += weight**2 * _variance(here, positives, negatives)
            targets, trues = targets + len(members), trues + positives
    value, low, high = 0.5, 0.0, 1.0
    if pairs:
        value, half = area / pairs, Z * math.sqrt(spread) / pairs
        low, high = max(value - half, 0.0), min(value + half, 1.0)
    prior = {"prior": trues / targets if targets else 0.0}
    return Result(attack, "auc", targets, value, low, high, 0.5, None, prior)


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Return Wilson's interval of 95% for a share; [0, 1] without trials.

    Examples
    --------
    >>> low, high = wilson(5, 50)
    >>> round(low, 3), round(high, 3)
    (0.043, 0.214)
    """
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    spread = Z * math.sqrt(share * (1 - share) / trials + (Z / (2 * trials)) ** 2)
    middle, scale = share + Z * Z / (2 * trials), 1 + Z * Z / trials
    # Nothing found is surely not above nothing, whatever rounding leaves.
    low = (middle - spread) / scale if successes > 0 else 0.0
    high = (middle + spread) / scale if successes < trials else 1.0
    return max(low, 0.0), min(high, 1.0)


def hanley_mcneil(area: float, positives: int, negatives: int) -> tuple[float, float]:
    """Return the interval of 95% of an area under the ROC curve.

    [0, 1] with one kind only.

    It takes cases for independent. Ties that share a vertex are not, so for ties it is too narrow.

    Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143 (1982).
    """
    if not positives or not negatives:
        return 0.0, 1.0
    half = Z * math.sqrt(_variance(area, positives, negatives))
    return max(area - half, 0.0), min(area + half, 1.0)


def _variance(area: float, positives: int, negatives: int) -> float:
    """Return the variance of an area, as `hanley_mcneil` takes it."""
    one, two = area / (2 - area), 2 * area * area / (1 + area)
    variance = (
        area * (1 - area)
        + (positives - 1) * (one - area * area)
        + (negatives - 1) * (two - area * area)
    ) / (positives * negatives)
    return max(variance, 0.0)


def area_under_curve(scores: NDArray[np.float64], is_true: NDArray[np.bool_]) -> float:
    """Return the chance that a true case outscores a false one.

    Equal scores count half.

    Examples
    --------
    >>> area_under_curve(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    positives = int(is_true.sum())
    negatives = len(is_true) - positives
    if not positives or not negatives:
        return 0.5
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    ranks = (below + (counts + 1) / 2)[group.reshape(-1)]
    excess = float(ranks[is_true].sum()) - positives * (positives + 1) / 2
    return excess / (positives * negatives)


def _rounded(figure: float) -> float:
    return round(float(figure), 6)


def _told(figure: float | None) -> float | None:
    return None if figure is None else _rounded(figure)
