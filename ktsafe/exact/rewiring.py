"""Inserted edges that look like ties: an attacker that removes what looks inserted finds little.

Ties close triangles, edges joined at random close few. Two inserted edges between the same two
classes may exchange ends: every vertex keeps its neighbours of each class, so rows, cohorts
and cost stay as they are.

    repeat:
        estimate how likely an edge with so many common neighbours is a tie
        in each part: exchange ends of some inserted edges if that makes them likelier

A part is a number of pairs of classes. It sees what other parts exchanged one round later.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.edges import edge_keys
from ktsafe.exact import _rewiring_core as core
from ktsafe.options import Effort
from ktsafe.strategies import Request

TRIALS, TRIALS_FAST = 100, 10
"""Exchanges that are tried, for each inserted edge. With the few of the effort `fast` twice as many
people are found once ties are guessed; more than 100 bring nothing (decision 78)."""

TRIALS_MAX = 3_000_000
"""Exchanges that are tried at most."""

AT_ONCE = 2.5
"""Exchanges that are tried in a round, for each inserted edge. Where they are many, each becomes
what ties look like, and all of them together are something else: attackers found half as many
people again (decision 78)."""

ROUNDS_MIN = 4
"""In the first quarter of the rounds edges only gain common neighbours, whatever ties have."""

BINS = 100

SAMPLE = 20_000
"""Edges of either kind from which it is estimated how likely one is a tie."""

PARTS_MAX = 16
PART_MIN = 2_000
"""Inserted edges that are worth a part of their own."""


class Round(NamedTuple):
    """What all parts see in a round: as in `ktsafe.exact._rewiring_core.RewiringState`."""

    classes: NDArray[np.int32]
    first: NDArray[np.int64]
    near: NDArray[np.int32]
    worth: NDArray[np.float64]

    def rewiring_state(self, ends: NDArray[np.int32]) -> core.RewiringState:
        """Return the release as a part may change it, given its inserted edges."""
        n = len(self.classes)
        own_first, _, own = core.by_vertex(ends, n)
        return core.RewiringState(
            classes=self.classes,
            first=self.first,
            near=self.near.copy(),
            ends=ends.copy(),
            own_first=own_first,
            own=own,
            worth=self.worth,
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
    n_fixed = len(shown) + len(others)
    first, near, edge = core.by_vertex(np.concatenate((shown, others, inserted)), len(classes))
    near, edge = core.by_class(first, near, edge, np.argsort(classes, kind="stable"))
    part_of = parts_of(classes, inserted)
    parts = [np.flatnonzero(part_of == i) for i in range(int(part_of.max()) + 1)]
    # An edge that leaves a slot is followed by another one of the same part.
    part_at = np.append(np.full(n_fixed, -1, dtype=part_of.dtype), part_of)[edge]
    slots = [np.flatnonzero(part_at == i) for i in range(len(parts))]
    del edge, part_at
    ends = inserted.copy()
    trials = TRIALS_FAST if effort == "fast" else TRIALS
    trials = min(trials * len(inserted), TRIALS_MAX)
    rounds = max(ROUNDS_MIN, int(trials / (AT_ONCE * (len(inserted) + len(others)))))
    tried = [trials * len(part) // (len(inserted) * rounds) for part in parts]
    share = np.arange(BINS + 1) / BINS
    run = map if executor is None else executor.map
    for i in range(rounds):
        now = Round(classes, first, near, np.log(0.02 + share))
        if i >= rounds // 4:
            likelihood = _likelihood(now, shown, np.concatenate((others, ends)))
            now = now._replace(worth=likelihood + 0.01 * share)
        seeds = rng.integers(2**63, size=len(parts)).tolist()
        own = [ends[part] for part in parts]
        # Nothing is written before the last part is done.
        done = list(run(exchanged_part, itertools.repeat(now), own, slots, tried, seeds))
        for part, at, (after, neighbours) in zip(parts, slots, done, strict=True):
            ends[part], near[at] = after, neighbours
    return ends


def parts_of(classes: NDArray[np.int32], edges: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return the part of each edge: they are about equally large, and no pair of classes in two."""
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
    now: Round, ends: NDArray[np.int32], slots: NDArray[np.int64], n_trials: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the inserted edges of a part after a round, and what then stands in its slots.

    Parameters
    ----------
    now:
        The release as the round began.
    ends:
        int32, shape (f, 2): the inserted edges of the part.
    slots:
        int64, shape (2 f,): where they stand in `now.near`.
    n_trials:
        Exchanges that are tried.
    seed:
        The only randomness.
    """
    rewiring_state = now.rewiring_state(ends)
    core.rewire(rewiring_state, n_trials, np.random.default_rng(seed))
    return rewiring_state.ends, rewiring_state.near[slots]


def _likelihood(
    now: Round, shown: NDArray[np.int32], inserted: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the log of shown ties over inserted edges in each bin of common neighbours."""
    counts = []
    rewiring_state = now.rewiring_state(inserted[:0])
    for edges in (shown, inserted):
        # As it would lie without a sample: kernels are compiled for each way in which arrays lie.
        sample = np.ascontiguousarray(edges[:: max(1, len(edges) // SAMPLE)])
        bins = np.bincount(core.bins_of(rewiring_state, sample), minlength=BINS + 1)
        counts.append((bins + 0.5) * max(len(edges), 1) / max(len(sample), 1))
    true, fake = counts
    likelihood: NDArray[np.float64] = np.log(true / fake)
    return likelihood
