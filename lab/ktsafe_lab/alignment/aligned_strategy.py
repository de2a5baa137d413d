"""Alignment: one shift maps the release onto itself, safe at any radius.

Vertices of one class stand in groups of m positions, with inserted vertices where nobody stands.
The shift of all groups by one position takes every edge through its orbit of m translates. An
orbit is shown whole or hidden whole, by how much of it is true. The shift is then an
automorphism whose orbits are the groups. A group has m >= k members of one quasi-identifier and at
most alpha * m sensitive ones, so the release is kt-safe for every n, in both readings, at
epsilon = 0 and t = 0; `ktsafe_lab.verify_hops.certificate` says why.

Which orbits are shown is the one difference between the strategies `aligned` and `robust`.
The search moves vertices between positions of their class so that edges share orbits. It counts
moves, not seconds: the same seed gives the same release.

Source: not of the paper, whose n >= 2 has no algorithm of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ktsafe.anonymization.request import Effort, Progress, Request
from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.alignment import _aligned_core as core
from ktsafe_lab.alignment.parts import Part, cut_into_parts, put_back
from ktsafe_lab.strategies import Plan

KEYS_MAX = 1 << 42
"""Possible orbits, which with a count of edges must fit 63 bits."""

HOT, SETTLED, COLD = 0.4, 0.15, 0.07
"""Temperatures in orbits times the root of the mean degree, which is what a move changes.

A search starts from the first, after parts from the second, and ends at the third.
"""

CHUNKS = 20
"""Pieces of the search between which progress is told."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long to search.

    Attributes
    ----------
    per_element:
        Moves per vertex and edge of the graph.
    work:
        Moves times the edges that a move is expected to touch, at most.
    """

    per_element: int
    work: int


BUDGETS = {
    "fast": Budget(200, 60_000_000),
    "balanced": Budget(1_500, 400_000_000),
}


Worth = Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.bool_]]
"""Says of orbits which are shown, see `half_true`."""


def aligned(request: Request) -> Plan:
    """Plan a release under one shift that shows half-true orbits.

    Edges then never cost more than to show none.
    """
    return planned(request, half_true)


def robust(request: Request) -> Plan:
    """Plan a release under one shift with half of its edges true.

    It shows sparser orbits than `aligned`, and edges never cost more than to show none. An attacker
    that knows the whole network finds more people than there, far fewer than in `exact`: in the
    demo .059, .044 and .950 from 5% seeds.
    """
    return planned(request, half_true_together)


def planned(request: Request, is_worth: Worth) -> Plan:
    """Plan a release that one shift maps onto itself.

    1. Seat every vertex in a group of its class.
    2. Search within parts of a large graph, each on its own.
    3. Search over the whole graph, across the borders of parts, too.
    4. Show the orbits that are worth it, and hide the others.

    With n = 0 nobody sees an edge, and nothing is inserted: a protection set is a whole class.
    """
    graph, params, report = request.graph, request.params, request.report
    effort, executor = request.options.effort, request.executor
    if params.n_hops == 0:
        return Plan(np.zeros(0, dtype=np.int32), graph.edges)
    problem = core.Problem(graph.indptr, graph.indices, graph.qi_classes, graph.is_sensitive)
    seats = seated(graph, params)
    if len(seats.sensitive) ** 2 * params.group_size_min >= KEYS_MAX:
        raise InvalidGraph("The graph has too many groups to be aligned.")
    report("aligning", 0.0)
    parts = cut_into_parts(problem, seats)
    seeds = request.rng.integers(2**63, size=1 + len(parts)).tolist()
    run = map if executor is None else executor.map
    found = run(searched_part, parts, itertools.repeat(effort), seeds[1:])
    for done, (part, occupant) in enumerate(zip(parts, found, strict=True), start=1):
        put_back(seats, part, occupant)
        report("aligning parts", done / len(parts))
    # After the parts only the edges between them are out of order, which takes less heat.
    hot = SETTLED if parts else HOT
    search(problem, seats, effort, seeds[0], hot, report)
    return shown(problem, seats, is_worth)


def searched_part(part: Part, effort: Effort, seed: int) -> NDArray[np.int32]:
    """Search within a part; return the occupant of each of its positions."""
    # A thread must not move what the whole holds; a process works on a copy anyway.
    moved = ("group", "position", "occupant", "sensitive")
    seats = part.seats._replace(**{name: getattr(part.seats, name).copy() for name in moved})
    search(part.problem, seats, effort, seed, HOT)
    return seats.occupant


def seated(graph: AttributedGraph, params: PrivacyParams) -> core.Seating:
    """Seat every vertex.

    Neighbours in the graph near each other, sensitive ones spread.

    A class gets as few groups as hold its members (at most m in each) and its sensitive members
    (at most alpha * m in each); its members are spread evenly over them.
    """
    m = params.group_size_min
    sensitive_max = math.floor(params.alpha * m)
    classes, flags = graph.qi_classes, graph.is_sensitive
    members = np.bincount(classes)
    flagged = np.bincount(classes[flags], minlength=len(members))
    groups = np.maximum(-(-members // m), -(-flagged // sensitive_max))
    first = np.concatenate(([0], np.cumsum(groups))).astype(np.int64)
    group = np.zeros(graph.n_vertices, dtype=np.int32)
    near = _along_edges(graph)
    order = np.lexsort((near, classes))
    begin = np.concatenate(([0], np.cumsum(members)))
    for c in range(len(members)):
        own = order[begin[c] : begin[c + 1]]
        group[own] = first[c] + _dealt(flags[own], int(groups[c]))
    return _plan(group, flags, first, np.array([m, sensitive_max], dtype=np.int64))


def _dealt(flags: NDArray[np.bool_], groups: int) -> NDArray[np.int64]:
    """Deal members evenly into groups in order, flagged ones too."""
    n, flagged = len(flags), int(np.count_nonzero(flags))
    group = np.zeros(n, dtype=np.int64)
    group[flags] = np.arange(flagged) * groups // max(flagged, 1)
    fair = np.bincount(np.arange(n) * groups // max(n, 1), minlength=groups)
    quota = np.maximum(fair - np.bincount(group[flags], minlength=groups), 0)
    # Where the flagged alone exceed their fair share, the last groups get one less.
    group[~flags] = np.repeat(np.arange(groups), quota)[: n - flagged]
    return group


def _along_edges(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return a rank of every vertex that keeps neighbours near each other."""
    n = graph.n_vertices
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    matrix = csr_array(
        (np.ones(len(graph.indices), dtype=np.int8), graph.indices, graph.indptr), shape=(n, n)
    )
    rank = np.empty(n, dtype=np.int64)
    rank[reverse_cuthill_mckee(matrix, symmetric_mode=True)] = np.arange(n)
    return rank


def _plan(
    group: NDArray[np.int32],
    flags: NDArray[np.bool_],
    first: NDArray[np.int64],
    caps: NDArray[np.int64],
) -> core.Seating:
    """Give the members of each group its first positions, and count them."""
    m, n_groups = int(caps[0]), int(first[-1])
    order = np.argsort(group, kind="stable")
    real = np.bincount(group, minlength=n_groups)
    position = np.empty(len(group), dtype=np.int32)
    position[order] = np.arange(len(group)) - np.repeat(np.cumsum(real) - real, real)
    occupant = np.full(n_groups * m, core.EMPTY, dtype=np.int32)
    occupant[group.astype(np.int64) * m + position] = np.arange(len(group))
    sensitive = np.bincount(group[flags], minlength=n_groups)
    if np.any(real > m) or np.any(sensitive > caps[1]):
        raise AssertionError("A group has more members than it may.")
    return core.Seating(
        group,
        position,
        occupant,
        sensitive.astype(np.int32),
        first,
        caps,
    )


def _moves(problem: core.Problem, effort: Effort) -> int:
    """Return the moves of an effort, fewer where vertices have many edges."""
    budget = BUDGETS[effort]
    n, ends = len(problem.cls), len(problem.indices)
    return min(budget.per_element * (n + ends // 2), budget.work // (20 + 4 * ends // max(n, 1)))


def search(
    problem: core.Problem,
    seats: core.Seating,
    effort: Effort,
    seed: int,
    hot: float,
    report: Progress | None = None,
) -> None:
    """Move vertices between positions of their class so that edges share orbits.

    In place.

    `hot` is the temperature that it starts from, in the unit of `HOT`.
    """
    if len(problem.indices) == 0 or seats.caps[0] == 1:
        return
    table = orbit_table(problem, seats)
    rng = np.random.default_rng(seed)
    moves = _moves(problem, effort)
    unit = math.sqrt(len(problem.indices) / len(problem.cls))
    cuts = np.linspace(0, moves, CHUNKS + 1).astype(np.int64)
    for done, (begin, stop) in enumerate(itertools.pairwise(cuts), start=1):
        piece = unit * hot * (COLD / hot) ** (np.array([begin, stop]) / max(moves, 1))
        core.anneal(problem, seats, table, rng, int(stop - begin), piece)
        if report is not None:
            report("aligning", done / CHUNKS)


def orbit_table(problem: core.Problem, seats: core.Seating) -> NDArray[np.int64]:
    """Return the orbits of all edges, with their numbers of edges."""
    table = np.zeros(1 << int(4 + 3 * (len(problem.indices) // 2)).bit_length(), dtype=np.int64)
    core.count_all(problem, seats, table)
    return table


def shown(problem: core.Problem, seats: core.Seating, is_worth: Worth) -> Plan:
    """Return the plan of the orbits worth it, and its certificate.

    The certificate is the shift.
    """
    m, n, n_groups = int(seats.caps[0]), len(problem.cls), len(seats.sensitive)
    vertex = seats.occupant.copy()
    empty = vertex == core.EMPTY
    vertex[empty] = n + np.arange(np.count_nonzero(empty))
    class_of_group = np.repeat(np.arange(len(seats.first) - 1), np.diff(seats.first))
    inserted = np.repeat(class_of_group, m)[empty].astype(np.int32)
    following = np.arange(n_groups * m).reshape(n_groups, m)
    shift = np.empty(len(vertex), dtype=np.int32)
    shift[vertex] = vertex[np.roll(following, -1, axis=1).reshape(-1)]

    table = orbit_table(problem, seats)
    entry = np.sort(table[table != 0])
    pair, distance = np.divmod((entry >> core.COUNT_BITS) - 1, m)
    one, two = np.divmod(pair, n_groups)
    # An orbit within a group at half the way round meets each of its edges from both ends.
    size = np.where((one == two) & (2 * distance == m), m // 2, m)
    worth = is_worth(entry & core.COUNT_MASK, size, len(problem.indices) // 2)
    one, two, distance, size = one[worth], two[worth], distance[worth], size[worth]
    orbit = np.repeat(np.arange(len(size)), size)
    start = np.arange(len(orbit)) - np.repeat(np.cumsum(size) - size, size)
    near = one[orbit] * m + start
    far = two[orbit] * m + (start + distance[orbit]) % m
    edges = np.column_stack((vertex[near], vertex[far])).astype(np.int32)
    return Plan(inserted, edges, shift=shift)


def half_true(true: NDArray[np.int64], size: NDArray[np.int64], n_ties: int) -> NDArray[np.bool_]:
    """Return which orbits are shown.

    Those of which at least half is true.

    Parameters
    ----------
    true, size:
        How many pairs of each orbit are ties, and how many there are; shape (orbits,).
    n_ties:
        All ties.
    """
    del n_ties
    return 2 * true >= size


def half_true_together(
    true: NDArray[np.int64], size: NDArray[np.int64], n_ties: int
) -> NDArray[np.bool_]:
    """Return which orbits are shown.

    The densest, to the greatest F1 with half their pairs true.

    Parameters are those of `half_true`. Only orbits that hold two ties are shown.

    Notes
    -----
    An orbit that holds one tie is never shown: with these nearly every tie would be there. On the
    demo with k = 5 that has a greater F1, .39 for .36, and an attacker that knows the whole network
    and 5% of the people finds 97% of the others.

    Examples
    --------
    >>> true, size = np.array([1, 2, 3]), np.array([5, 5, 5])
    >>> half_true_together(true, size, 6).tolist(), half_true(true, size, 6).tolist()
    ([False, True, True], [False, False, True])
    """
    eligible = np.flatnonzero(true >= np.minimum(2, size))
    order = eligible[np.argsort(-true[eligible] / size[eligible], kind="stable")]
    ties, pairs = np.cumsum(true[order]), np.cumsum(size[order])
    # Beyond that edges would cost more than to show none.
    within = int(np.count_nonzero(2 * ties >= pairs))
    f1 = 2 * ties[:within] / (n_ties + pairs[:within])
    worth = np.zeros(len(true), dtype=np.bool_)
    worth[order[: int(f1.argmax()) + 1 if len(f1) else 0]] = True
    return worth
