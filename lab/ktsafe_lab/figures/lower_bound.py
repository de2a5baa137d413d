r"""A certified lower bound on the cost of any insert-only kt-safe release.

It sees degrees only: of the definition it uses that a release keeps every original vertex with its
quasi-identifier (QI) and edges, and that each released vertex v has k - 1 others of its QI whose
degrees differ from v's by at most h = floor(epsilon / 2). Whatever satisfies kt-safety satisfies
that, so the bound holds for every strategy; neither t nor alpha enters.

**Notation.** Take one QI class with original degrees d_1 >= d_2 >= ... >= d_n. Vertices that a
release inserts into the class are further members of original degree 0, behind the others. Let
f_i >= d_i be the released degrees and f_i - d_i the *lift*. New edges have two ends each, each end
adds 1 to one lift, and a vertex belongs to one class: over all classes,
2 * (inserted edges) = sum of lifts.

**Order.** Only the multiset of the f_i matters to the condition. If i < j and f_i < f_j, swapping
the two keeps it, keeps the sum, and is possible: d_i <= f_i < f_j and d_j <= d_i <= f_i. So
f_1 >= f_2 >= ... may be assumed as far as the sum of lifts goes.

**Bound 1, blocks.** Call position 1 a leader, and after a leader p the first position p' with
f_p' < f_p - 2h the next one. The positions from p up to before p' are the block of p, all with
f >= f_p - 2h. Those of its positions with f < f_p - h are its tail. The k - 1 others near p' have
f <= f_p' + h < f_p - h: they lie in the block of p' or in the tail of p, never before it, because
all earlier blocks have f >= f_p. So if the tail of p has x positions, at least k - x positions of
the block of p', p' included, have f >= f_p' - h; being sorted, they are its first ones. Hence with
need = k for the first block and max(1, k - x) after a tail of x, the lifts of a block that begins
at p are at least

    sum over its first `need` positions of max(0, d_p - h - d_i)
    + sum over its other positions of max(0, d_p - 2h - d_i),

and x <= (size of the block) - need. Both sums shrink and later needs shrink if f_p is replaced by
d_p <= f_p and x by its upper limit, so the cheapest partition of the sorted degrees into blocks is
a lower bound on the lifts of the class; it is found by dynamic programming. A block longer than
need + k - 1 need not be tried: cut behind its (k - 1)-th tail position, the rest has need 1 (or,
for h = 0, where there are no tails, its full need k) and a lower leader. Inserted vertices stand
last and cost 2 ends more each (one vertex is worth two ends). One that fills no need adds cost and
lowers none, so they only ever complete the need of the last block, where the real members cannot.
The cost is at least half the sum over all classes.

**Bound 2, crowded hubs.** In every class the k vertices of greatest released degree are all at
f >= f_1 - h >= d_1 - h. Their lifts, in descending order, are each at least the corresponding one
of x_i = max(0, d_1 - h - d_i), i = 1..k (d_i = 0 where the class has no i-th member: then a vertex
was inserted, which costs 1 besides). Let S be any s of these vertices over all classes, and Q the
others among them. New edges inside S number at most s (s - 1) / 2 and a vertex outside meets S at
most s times, so with E(A, B) the new edges between A and B

    inserted edges >= E(S, S) + E(S, rest) + 1/2 * sum over u in Q of (lift of u - s)
                   >= sum over S of lifts - s (s - 1) / 2 + 1/2 * sum over Q of max(0, lift - s),

because the lift of u in Q beyond what S gives it are ends of edges that avoid S. For a fixed choice
of ranks the right side never falls when a lift grows, so the least lifts x_i may be put in; S is
taken as the s greatest, and the best s counts. On graphs with few classes and high hubs this is
much more than half the ends, since hubs cannot spend their new edges on each other.

*Source*: the hub bound (half of sum x_i) is the first block of bound 1 and the case s = 0 of
bound 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit import Cost, Traced
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import renumbered
from ktsafe.params import PrivacyParams
from ktsafe_lab.figures._lower_bound_core import cheapest_blocks

STEPS_MAX = 4_000_000_000
"""Work beyond which the block bound is left out (k in the thousands)."""


def insertion_lower_bound(graph: AttributedGraph, params: PrivacyParams) -> int:
    """Return a cost that no insert-only kt-safe release of `graph` can undercut.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        Only k and epsilon enter.

    Returns
    -------
    int
        A lower bound on inserted vertices plus inserted edges; the proof is the module's text.

    Complexity
    ----------
    O(n log n + n k^2).
    """
    slack = params.epsilon // 2
    order = np.lexsort((-graph.degrees, graph.qi_classes))
    degrees = graph.degrees[order]
    cuts = np.flatnonzero(np.diff(graph.qi_classes[order])) + 1
    classes = np.split(degrees, cuts) if len(degrees) else []
    return max(
        crowded_hubs_bound(classes, params.k, slack),
        blocks_bound(classes, params.k, slack),
    )


def blocks_bound(classes: list[NDArray[np.int64]], k: int, slack: int) -> int:
    """Return bound 1 for descending degrees by class.

    0 where it would take too long.
    """
    if 2 * k * k * sum(map(len, classes)) > STEPS_MAX:
        return 0
    ends = sum(int(cheapest_blocks(degrees, k, slack)) for degrees in classes)
    return -(-ends // 2)


def crowded_hubs_bound(classes: list[NDArray[np.int64]], k: int, slack: int) -> int:
    """Return bound 2 for descending degrees by class."""
    lifts: list[NDArray[np.int64]] = []
    inserted = 0
    for degrees in classes:
        top = np.zeros(k, dtype=np.int64)
        top[: len(degrees)] = degrees[:k]
        inserted += max(0, k - len(degrees))
        lifts.append(np.maximum(0, top[0] - slack - top))
    if not lifts:
        return 0
    x = np.sort(np.concatenate(lifts))[::-1]
    s = np.arange(len(x) + 1)
    greatest = np.concatenate(([0], np.cumsum(x)))
    # How many of the others exceed s, and their sum: x is descending.
    beyond = np.maximum(len(x) - np.searchsorted(x[::-1], s, side="right"), s)
    rest = greatest[beyond] - greatest[s] - (beyond - s) * s
    ends = 2 * greatest[s] - s * (s - 1) + rest
    return inserted - (-int(ends.max()) // 2)


def cost_over_bound(
    traced: Traced, params: PrivacyParams, cost: Cost
) -> dict[str, int | float | None]:
    """Return the `lower_bound` of a release's cost, and the cost as `times_lower_bound`.

    The bound is what publishing these people with these quasi-identifiers costs at least, and what
    was withheld. It holds for releases that delete no edge among them, so its ratio is None for the
    others, and there is none beyond stars: it is one of degrees, which decide similarity only
    between stars.

    Parameters
    ----------
    cost:
        From `ktsafe.audit.cost_parts`.
    """
    if not params.sees_stars:
        return {"lower_bound": None, "times_lower_bound": None}
    bound = insertion_lower_bound(_shown(traced), params)
    bound += cost.deleted_vertices + cost.edges_of_withheld
    only_inserts = cost.deleted_edges == cost.edges_of_withheld
    times = round(cost.total / bound, 6) if bound and only_inserts else None
    return {"lower_bound": bound, "times_lower_bound": times}


def _shown(traced: Traced) -> AttributedGraph:
    """Return the true edges among released people, with shown values."""
    released, real = traced.released, traced.real
    position = np.full(traced.original.n_vertices, -1, dtype=np.int32)
    position[traced.behind[real]] = np.arange(len(real))
    edges = renumbered(position, traced.original.edges)
    return AttributedGraph.from_codes(
        released.schema, released.categories, released.codes[real], edges
    )
