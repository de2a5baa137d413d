"""Inserted edges like ties, in a release with the network's triangles.

Constants may be tuned, with the attacks that find inserted edges at hand (`ktsafe.assess.attacks`):
more triangles can mean more people found (decision 85). Rows of neighbour counts must stay
(tests/ktsafe/anonymization/test_rewiring.py), whatever the executor.

Ties close triangles, edges joined at random close few: whoever removes what looks inserted would
find the ties, and whoever counts triangles would find too few. Two inserted edges between the same
two classes may exchange ends: every vertex keeps its neighbours of each class, so rows, cohorts and
cost stay as they are.

    repeat:
        estimate how likely an edge whose ends are so close is a tie, which closeness the edges of
            the release lack beside the true ties, and how they mix degrees
        in each part: exchange ends of some inserted edges if they are worth more then

A part is a number of pairs of classes. It sees what other parts exchanged one round later.

The closeness of two vertices is their number of common neighbours over the root of their degrees'
product (Salton's cosine). Which ties are shown decides how many triangles a release has.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _rewiring_core as core
from ktsafe.anonymization.request import Effort, Request
from ktsafe.graph.numbering import edge_keys, small

BINS = 100
"""Equal steps in which closeness is counted."""

SUPPORT = 0.4
"""By how much more of its gain a tie with the closest ends of its pair of classes is worth than one
with the least close ones. At .8 the demo has more triangles still, and those who remove what looks
inserted find .143 of fb-reed98 instead of .123 (decision 85)."""

TRIALS, TRIALS_FAST = 100, 10
"""Exchanges that are tried, for each inserted edge. With the few of the effort `fast` twice as many
people are found once ties are guessed; more than 100 bring nothing (decision 23)."""

TRIALS_MAX = 3_000_000
"""Exchanges that are tried at most."""

AT_ONCE = 2.5
"""Exchanges that are tried in a round, for each inserted edge. Where they are many, each becomes
what ties look like, and all of them together are something else: attackers found half as many
people again (decision 23)."""

ROUNDS_MIN = 4
"""In the first quarter of the rounds edges only gain common neighbours, whatever ties have."""

TARGET = 2.0
"""What it is worth to bring the closeness of the release's edges nearer to that of the true ties,
beside what each edge looks like. With 1 it comes a little less near, with 5 degrees mix less well,
and with 20 all edges move at once, back and forth (decision 85)."""

PULL, PULL_MAX = 0.1, 0.5
"""How fast exchanges are drawn to the degree assortativity of the ties, and how far at most: beyond
that edges would no longer look like ties."""

SAMPLE = 20_000
"""Edges of either kind from which it is estimated how likely one is a tie."""

PARTS_MAX = 16
"""Parts at most: as many as most machines have threads."""

PART_MIN = 2_000
"""Inserted edges that are worth a part of their own."""


def closeness(
    n: int, ties: NDArray[np.integer], edges: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Return each edge's bin of closeness in a graph of ties.

    Parameters
    ----------
    n:
        The number of vertices.
    ties:
        int, shape (m, 2): the edges of the graph.
    edges:
        int, shape (x, 2): those that are asked for, ties or not. Default: the ties.

    Returns
    -------
    int64, shape (x,)
        Between 0 and `BINS`.

    *Complexity*: O(m + sum of the degrees at the ends of the edges).

    Examples
    --------
    >>> triangle = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    >>> closeness(4, triangle).tolist()
    [50, 40, 40, 0]
    """
    ties = ties.astype(np.int32, copy=False)
    asked = np.ascontiguousarray(ties if edges is None else edges, dtype=np.int32)
    if len(asked) < len(ties):
        # Of few edges only the ties beside their ends count.
        is_end = np.zeros(n, dtype=np.bool_)
        is_end[asked] = True
        ties = ties[is_end[ties[:, 0]] | is_end[ties[:, 1]]]
    first, near = core.by_vertex(ties, n, False)
    bins: NDArray[np.int64] = core.bins_of(first, near, asked, BINS, np.zeros(n + 1, np.int64))
    return bins


def supported(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the factor of each tie's gain, 1 in the mean.

    Members of a cohort compete for equally many shown ties. Of those that compete, the ones with
    the closest ends are shown, and the triangles that they close with them. The mean stays, so
    prices mean what they did.

    Parameters
    ----------
    bins:
        int64, shape (m,): see `closeness`. Only their order counts, equal ones are worth the same.

    Examples
    --------
    >>> supported(np.array([3, 0, 0, 7])).round(2).tolist()
    [1.05, 0.9, 0.9, 1.15]
    """
    known = np.sort(bins)
    rank = np.searchsorted(known, bins, "left") + np.searchsorted(known, bins, "right")
    gain: NDArray[np.float64] = 1 + SUPPORT * (rank / max(2 * len(bins), 1) - 0.5)
    return gain


class Round(NamedTuple):
    """What all parts see in a round: as in `_rewiring_core.RewiringState`."""

    classes: NDArray[np.int32]
    first: NDArray[np.int64]
    near: NDArray[np.int32]
    worth: NDArray[np.float64]
    level: NDArray[np.float64]
    pull: NDArray[np.float64]

    def rewiring_state(self, ends: NDArray[np.int32]) -> core.RewiringState:
        """Return the release as a part may change it.

        Its inserted edges are given.
        """
        n = len(self.classes)
        own_first, own = core.by_vertex(ends, n, True)
        return core.RewiringState(
            classes=self.classes,
            first=self.first,
            near=self.near.copy(),
            ends=ends.copy(),
            own_first=own_first,
            own=own,
            worth=self.worth,
            level=self.level,
            pull=self.pull,
            mark=np.zeros(n + 1, dtype=np.int64),
        )


def rewired(request: Request, edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the edges of a release, inserted ones with their ends exchanged.

    Parameters
    ----------
    request:
        Its effort says how many exchanges are tried.
    edges:
        int32, shape (m, 2): the released edges.
    """
    # Not told that keys are distinct, numpy finds the distinct ones by a table of hashes.
    true = edge_keys(request.graph.edges)
    is_true = np.isin(edge_keys(edges), true, assume_unique=True)
    shown, inserted = edges[is_true], edges[~is_true]
    after = exchanged(
        request.graph.qi_classes,
        shown,
        inserted,
        truth=request.graph.edges,
        rng=request.rng,
        effort=request.options.effort,
        executor=request.executor,
    )
    return np.concatenate((shown, after))


def exchanged(
    classes: NDArray[np.int32],
    shown: NDArray[np.int32],
    inserted: NDArray[np.int32],
    staying: NDArray[np.int32] | None = None,
    *,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    effort: Effort = "balanced",
    executor: Executor | None = None,
) -> NDArray[np.int32]:
    """Return the inserted edges after they exchanged ends.

    Parameters
    ----------
    classes:
        int32, shape (n,): class of every released vertex.
    shown, inserted:
        int32, shape (x, 2): the released true ties, and the inserted edges that may exchange ends.
    staying:
        Likewise: inserted edges that may not.
    truth:
        Likewise: all true ties, shown and hidden. What the release should be like.
    rng:
        The only randomness.
    effort:
        How many exchanges are tried.
    executor:
        Works on parts side by side, if given; the edges are the same without.
    """
    if not len(inserted):
        return inserted
    others = inserted[:0] if staying is None else staying
    first, near = core.by_vertex(np.concatenate((shown, others, inserted)), len(classes), False)
    near = core.by_class(first, near, np.argsort(small(classes), kind="stable"))
    part_of = parts_of(classes, inserted)
    parts = [np.flatnonzero(part_of == i) for i in range(int(part_of.max()) + 1)]
    ends = inserted.copy()
    trials = TRIALS_FAST if effort == "fast" else TRIALS
    trials = min(trials * len(inserted), TRIALS_MAX)
    rounds = max(ROUNDS_MIN, int(trials / (AT_ONCE * (len(inserted) + len(others)))))
    tried = [trials * len(part) // (len(inserted) * rounds) for part in parts]
    share = np.arange(BINS + 1) / BINS
    degree = np.diff(first)
    # By logarithms the few of very many ties do not decide alone which exchanges are made.
    level = _standard(np.log1p(degree), np.ones_like(degree))
    now = Round(classes, first, near, np.log(0.02 + share), level, np.zeros(1))
    wanted = np.bincount(closeness(len(classes), truth, _sample(truth)), minlength=BINS + 1) + 0.5
    mixing = _Mixing(degree, truth, np.concatenate((shown, others)))
    run = map if executor is None else executor.map
    for i in range(rounds):
        pull = now.pull + PULL * mixing.lacks(ends)
        now = now._replace(pull=np.clip(pull, -PULL_MAX, PULL_MAX))
        if i >= rounds // 4:
            true, fake = (_counted(now, edges) for edges in (shown, np.concatenate((others, ends))))
            worth = np.log(true / fake) + TARGET * _lacking(true + fake, wanted)
            now = now._replace(worth=worth + 0.01 * share)
        seeds = rng.integers(2**63, size=len(parts)).tolist()
        own = [ends[part] for part in parts]
        # Nothing is written before the last part is done.
        done = list(run(exchanged_part, itertools.repeat(now), own, tried, seeds))
        for part, (after, at, neighbours) in zip(parts, done, strict=True):
            ends[part], near[at] = after, neighbours
    return ends


def parts_of(classes: NDArray[np.int32], edges: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return the part of each edge.

    They are about equally large, and no pair of classes in two.
    """
    ends = np.sort(classes[edges], axis=1).astype(np.int64)
    _, pair_of, sizes = np.unique(
        ends[:, 0] * (int(classes.max()) + 1) + ends[:, 1], return_inverse=True, return_counts=True
    )
    n_parts = min(PARTS_MAX, 1 + len(edges) // PART_MIN, len(sizes))
    load = np.zeros(n_parts, dtype=np.int64)
    part_of = np.empty(len(sizes), dtype=np.int64)
    for pair in np.argsort(-sizes, kind="stable"):
        part_of[pair] = load.argmin()
        load[part_of[pair]] += sizes[pair]
    of_edge: NDArray[np.int8] = part_of.astype(np.int8)[pair_of.reshape(-1)]
    return of_edge


def exchanged_part(
    now: Round, ends: NDArray[np.int32], n_trials: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return a part's inserted edges after a round, and the changed neighbours.

    Where they stand in `now.near`, and which they are.

    Parameters
    ----------
    now:
        The release as the round began.
    ends:
        int32, shape (f, 2): the inserted edges of the part. No other part changes what they do.
    n_trials:
        Exchanges that are tried.
    seed:
        The only randomness.
    """
    rewiring_state = now.rewiring_state(ends)
    core.rewire(rewiring_state, n_trials, np.random.default_rng(seed))
    at = np.flatnonzero(rewiring_state.near != now.near)
    return rewiring_state.ends, at, rewiring_state.near[at]


def _lacking(there: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.float64]:
    """Return each bin's worth of an edge towards the wanted distribution.

    The distance is the sum of the squares by which the shares of edges up to each bin differ, and
    this is its slope: an edge that moves up past bins gains what is too many below each of them.
    Shares bin by bin would not do: where ties are close or not at all, edges would have to pass
    bins that no tie is in, and cliques would come out with fewer triangles than before.
    """
    too_many_below = np.cumsum(there / there.sum() - wanted / wanted.sum())
    lacking: NDArray[np.float64] = np.append(0.0, np.cumsum(too_many_below)[:-1])
    return lacking


def _counted(now: Round, edges: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the release's edges by bin of closeness, from a sample."""
    sample = _sample(edges)
    mark = np.zeros(len(now.classes) + 1, dtype=np.int64)
    bins = np.bincount(core.bins_of(now.first, now.near, sample, BINS, mark), minlength=BINS + 1)
    counted: NDArray[np.float64] = (bins + 0.5) * max(len(edges), 1) / max(len(sample), 1)
    return counted


def _sample(edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return some edges, evenly over their list."""
    # As it would lie without a sample: kernels are compiled for each way in which arrays lie.
    return np.ascontiguousarray(edges[:: max(1, len(edges) // SAMPLE)])


def _standard(values: NDArray[Any], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return values less their mean, in standard deviations.

    Zeros where all are equal.
    """
    around = values - np.average(values, weights=weights)
    standard: NDArray[np.float64] = around / max(
        np.average(around**2, weights=weights) ** 0.5, 1e-9
    )
    return standard


def _products(level: NDArray[np.float64], edges: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the product of the levels at both ends of each edge."""
    return level[edges[:, 0]] * level[edges[:, 1]]


class _Mixing:
    """How far a release is from the degree assortativity of the truth.

    That is the mean product of the degrees at both ends of an edge, standardized over ends.
    """

    def __init__(
        self, degree: NDArray[np.int64], truth: NDArray[np.int32], fixed: NDArray[np.int32]
    ) -> None:
        true = np.bincount(truth.reshape(-1), minlength=len(degree))
        self._wanted = _products(_standard(true, true), truth).mean() if len(truth) else 0.0
        self._level = _standard(degree, degree)  # No exchange changes degrees.
        self._fixed = _products(self._level, fixed).sum()
        self._n_fixed = len(fixed)

    def lacks(self, ends: NDArray[np.int32]) -> float:
        """Return its shortfall with these edges beside those that stay."""
        mixed = self._fixed + _products(self._level, ends).sum()
        return float(self._wanted - mixed / (self._n_fixed + len(ends)))
