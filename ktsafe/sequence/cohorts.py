"""People of a sequence come in cohorts, and leave places behind.

Cohorts are formed from what is known by then: the leaves of the kt-tree over the counts of
true neighbours in every class. A block begins without edges; which ties of its people are shown is
planned with everybody else's (`ktsafe.sequence.planning`).

Constants may be tuned: the next release follows them, former cohorts stay. A published id is never
given again, nobody is published alone, and a place stays when its owner leaves
(tests/ktsafe/sequence/test_policies.py, test_margin.py, test_departures.py).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.anonymization.kt_tree import cohorts_of_class
from ktsafe.sequence.memory.column_table import NOBODY, among, distinct
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.step_context import StepContext, part_largest

PUBLISHED_END = 2**62
"""Published ids are drawn below this."""

FEW_TIES, MANY_TIES = 2, -1
"""How many people more than others cohorts begin with in the half of a class that has the fewest
ties, and in the other one. People with few ties leave sooner, and little is shown of them, so a
larger cohort costs little (decision 84)."""

HALVED_MIN = 4
"""Cohorts that a class must be enough for to be halved."""

TIES_AT_ONCE = 1_000_000
"""Ties that are counted together: 8 MB for each number of theirs, where all would be 80."""


def publish_block(context: StepContext, rows: NDArray[np.int64], *, together: bool = False) -> None:
    """Publish withheld people together, at least k a class, within alpha.

    Parameters
    ----------
    rows:
        Their rows of `people`, int64, in an order that says nothing.
    together:
        Whether the people of a class become one cohort, of whatever size.
    """
    state = context.state
    calls: list[tuple[Any, ...]] = []
    published = []
    classes = in_classes(state, rows)
    settled = np.concatenate([people for _, people in classes])
    counts, last = neighbour_counts(state, settled), 0
    for cls, people in classes:
        first, last = last, last + len(people)
        codes = state.people.sensitive[people]
        places = _add_places(context, np.full(len(people), cls), codes)
        published.append(places)
        if together:
            state.form_cohorts(places)
            continue
        ever = state.places.ever[places] == 1
        own, leaves = counts[first:last], _nodes(context, cls, people, ever)
        cut = (leaves, None) if leaves else _halves(context, own, ever)
        calls.append((places, own, ever, *cut))
    state.assign_places(settled, np.concatenate(published))
    if not calls:
        return
    # A class is a part: its cohorts need no other class.
    whose, rows_of_counts, ever, nodes, least = zip(*calls, strict=True)
    forming, seeds = repeat(context.spec.forming), context.seeds(len(calls))
    found = context.run(cohorts_of_class, rows_of_counts, ever, forming, seeds, nodes, least)
    for places, (cohort, _) in zip(whose, found, strict=True):
        state.form_cohorts(places, cohort.astype(np.int64))


def in_classes(state: State, rows: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    """Return people by their true classes, ascending.

    Within one they keep their order.
    """
    cls = state.people.cls[rows]
    order = np.argsort(cls, kind="stable")
    starts = np.flatnonzero(np.diff(cls[order], prepend=-1))
    parts = np.split(rows[order], starts[1:])
    return list(zip(cls[order[starts]].tolist(), parts, strict=False))


def _nodes(
    context: StepContext, cls: int, people: NDArray[np.int64], ever: NDArray[np.bool_]
) -> list[NDArray[np.int64]] | None:
    """Return the leaves of the kt-tree that people are in, as positions.

    None: in none.

    Leaves in which somebody lacks, or that make for fewer cohorts, are joined to the next ones.
    """
    if cls not in context.state.tree.branches:
        return None
    branch, least = context.state.tree.branches[cls], context.spec.forming.k
    leaf = branch.leaf[np.searchsorted(branch.people, people)]
    nodes: list[NDArray[np.int64]] = []
    node, rest = np.zeros(0, dtype=np.int64), len(people)
    for number in range(len(branch.pivots)):
        node = np.append(node, np.flatnonzero(leaf == number))
        after = rest - len(node)
        if not _lacking(context, len(node), int(ever[node].sum())) and (
            len(node) // least + after // least == rest // least
        ):
            nodes.append(node)
            node, rest = node[:0], after
    if len(node):
        # The rest goes with the leaf before, if alpha allows.
        node = np.append(node, nodes.pop() if nodes else node[:0])
        nodes.append(node)
    is_whole = not _lacking(context, len(node), int(ever[node].sum())) if len(node) else True
    return nodes if is_whole else None


def _halves(
    context: StepContext, counts: csr_array, ever: NDArray[np.bool_]
) -> tuple[list[NDArray[np.int64]] | None, list[int] | None]:
    """Return groups with few and many ties, and their least cohort sizes.

    The border is the one near the middle that makes for most cohorts. None: they stay together.
    """
    n, k = len(ever), context.spec.forming.k
    if context.spec.margin + MANY_TIES < 1 or n < HALVED_MIN * k:
        return None, None
    few, many = k + FEW_TIES, k + MANY_TIES
    order = np.argsort(counts.sum(axis=1), kind="stable")
    borders = np.arange(n // 2 - few, n // 2 + few)
    n_cohorts = borders // few + (n - borders) // many
    border = borders[np.lexsort((np.abs(2 * borders - n), -n_cohorts))[0]]
    halves = np.split(order, [border])
    is_whole = not any(_lacking(context, len(half), int(ever[half].sum())) for half in halves)
    return (halves, [few, many]) if is_whole else (None, None)


def _lacking(context: StepContext, members: int, sensitive: int) -> int:
    """Return how many harmless members a cohort lacks, for m and alpha."""
    alpha = context.spec.forming.alpha
    for_alpha = -(-sensitive * alpha.denominator // alpha.numerator)
    return max(context.spec.forming.group_size_min, for_alpha, members) - members


def neighbour_counts(state: State, rows: NDArray[np.int64]) -> csr_array:
    """Return how many true neighbours of each class withheld people have.

    (people, classes).
    """
    n, n_classes = len(rows), len(state.codes.classes)
    position = np.full(state.people.n, NOBODY)
    position[rows] = np.arange(n)
    ties = state.hidden_ties.rows_around(rows)
    # A number for each person and neighbour's class.
    cells = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(ties), TIES_AT_ONCE):
        ends = state.hidden_ties.ends(ties[start : start + TIES_AT_ONCE])
        for person, other in (ends.T, ends[:, ::-1].T):
            is_asked = position[person] != NOBODY
            classes = state.people.cls[other[is_asked]]
            cells.append(position[person[is_asked]] * n_classes + classes)
    ordered = np.sort(np.concatenate(cells))
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    cell, times = ordered[first], np.diff(first, append=len(ordered))
    begin = np.searchsorted(cell, np.arange(n + 1) * n_classes)
    columns = (cell % max(n_classes, 1)).astype(np.int32)
    return csr_array((times.astype(np.int32), columns, begin), shape=(n, n_classes))


def _add_places(
    context: StepContext, classes: NDArray[np.int64], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add an empty place for each class and sensitive code."""
    published = draw_published(context, len(classes))
    return context.state.add_places(published, classes, codes, context.sensitive_codes[codes])


def draw_published(context: StepContext, count: int) -> NDArray[np.int64]:
    """Draw published ids that were never given before.

    A collision among 2**62 numbers is not expected in any lifetime, and would be found by the
    certificate; ids of removed places are not kept for comparison.
    """
    drawn = context.rng.integers(0, PUBLISHED_END, count, dtype=np.int64)
    taken = context.state.places.published
    while len(distinct(drawn)) < count or among(drawn, taken).any():
        drawn = context.rng.integers(0, PUBLISHED_END, count, dtype=np.int64)
    return drawn


# Births: newcomers wait, then are published together in a block.
#
# Cohorts never change. So after the first release a class is first shown when it can be told who
# goes with whom: when its people would be near to the medians of their cohorts, or have waited for
# `birth_wait_max` releases. Later newcomers wait for one another only.

COHORTS_MIN = 2
"""Cohorts that newcomers of a class must be enough for: then their composition can be chosen."""

SMALL_PART = 8
"""Newcomers of a class that are at most this part of its published places need be enough for one
cohort only: where they fit badly, that is little of it."""

APART_MAX = 0.7
"""Share of the ties of newcomers by which they may differ from the medians of their cohorts. With 1
nothing of them could be shown."""

SLOTS_MIN = 2
"""Releases over which the newcomers of a group must have come: one flood of accounts is none."""


def publish_ready(context: StepContext) -> None:
    """Publish newcomers of classes with enough, at random under alpha."""
    if context.state.current.number == 0:
        part_largest(context)
    _grow_tree(context)
    ready: list[int] = []
    for rows in waiting(context.state):
        ready += _ready(context, rows)
    if ready:
        order = np.array(ready, dtype=np.int64)[context.rng.permutation(len(ready))]
        publish_block(context, order)


def waiting(state: State) -> list[list[int]]:
    """Return the rows of unpublished people, a list for each class."""
    return [people.tolist() for _, people in in_classes(state, state.people.withheld())]


def come_apart(state: State, rows: list[int]) -> bool:
    """Whether the newcomers of a class came over enough releases.

    The first one asks for none.
    """
    return state.current.number == 0 or len(distinct(state.people.since[rows])) >= SLOTS_MIN


def margin(context: StepContext) -> int:
    """Return how many newcomers more than needed must wait.

    The first release asks for none.
    """
    return 0 if context.state.current.number == 0 else context.spec.options.sybil_margin


def under_alpha(context: StepContext, rows: list[int]) -> list[int]:
    """Return as many people as alpha allows in a cohort, at random."""
    alpha = context.spec.forming.alpha
    if alpha == 1:
        return rows
    flags = context.sensitive_codes[context.state.people.sensitive[rows]].tolist()
    sensitive = list(compress(rows, flags))
    harmless = [row for row, flag in zip(rows, flags, strict=True) if not flag]
    # s <= alpha * (s + harmless)
    room = len(harmless) * alpha.numerator // (alpha.denominator - alpha.numerator)
    order = context.rng.permutation(len(sensitive)).tolist()
    return sorted(harmless + [sensitive[i] for i in order[:room]])


def _ready(context: StepContext, rows: list[int]) -> list[int]:
    """Return the people of one class to publish; none while few wait."""
    state = context.state
    least = max(context.spec.params.k + margin(context), context.spec.forming.k)
    if state.current.number and not _are_small_part(state, rows):
        least *= COHORTS_MIN
    if len(rows) < least or not come_apart(state, rows):
        return []
    chosen = under_alpha(context, rows)
    if len(chosen) < least:
        return []
    cls = int(state.people.cls[rows[0]])
    waits_for_ties = cls not in state.places.cohorts_of and not _are_overdue(context, rows)
    return [] if waits_for_ties and not _are_alike(state, cls) else chosen


def _are_small_part(state: State, rows: list[int]) -> bool:
    """Whether a class's waiting people are few beside its published ones."""
    labels = state.places.cohorts_of.get(int(state.people.cls[rows[0]]), [])
    return len(rows) * SMALL_PART <= sum(len(state.places.members[label]) for label in labels)


def _are_overdue(context: StepContext, rows: list[int]) -> bool:
    """Whether one of them waited as long as anybody shall.

    In the first release everybody did.
    """
    state = context.state
    oldest = int(state.people.since[rows].min())
    return (
        state.current.number == 0
        or state.current.number - oldest >= context.spec.options.birth_wait_max
    )


def _are_alike(state: State, cls: int) -> bool:
    """Whether a class's waiting people are near their leaves' pivots."""
    branch = state.tree.branches[cls]
    return branch.ties > 0 and branch.apart <= APART_MAX * branch.ties


def _grow_tree(context: StepContext) -> None:
    """Let the kt-tree of waiting people follow; the first release publishes without."""
    state = context.state
    if state.current.number == 0:
        return
    classes = in_classes(state, state.people.withheld())
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(people for _, people in classes)])
    state.tree = state.tree.following(classes, neighbour_counts(state, rows), context.spec.forming)


# Places that are left, by departure or a changed quasi-identifier.
#
# Nothing that is shown of a place changes because its owner left: it keeps its values for as long
# as its cohort is published, and its edges until the pair of classes that they belong to is planned
# anew, when all members of a cohort gain and lose alike. Why: decision 36. The quasi-identifier of
# a person with the change stays published until a group moves.


def depart(context: StepContext, rows: NDArray[np.int64]) -> set[int]:
    """Remove people; return the cohorts of the places that counterfeits keep.

    A counterfeit shows what the person's place showed; its edges are residual until dropped.
    """
    left = leave_places(context, rows[context.state.people.place[rows] != NOBODY])
    context.state.remove_people(rows)
    return left


def leave_places(context: StepContext, rows: NDArray[np.int64]) -> set[int]:
    """Let counterfeits keep people's places, the people be withheld; return the cohorts."""
    state = context.state
    if not len(rows):
        return set()
    places = state.vacate(rows)
    state.count("counterfeits", len(rows))
    return set(state.places.cohort[places].tolist())


def move_groups(context: StepContext) -> set[int]:
    """Publish groups anew that may move to a new class.

    Return the cohorts that were left.

    At least m members of one cohort move to one class together and become one cohort there: an
    attacker that links both lives still finds the whole group. Where cohorts have a margin those
    who move begin with it, and at least m people stay; or nobody does.
    """
    state = context.state
    left: set[int] = set()
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    rows = state.people.differing(state.places)
    labels = state.places.cohort[state.people.place[rows]].tolist()
    targets = state.people.cls[rows].tolist()
    for label, target, row in zip(labels, targets, rows.tolist(), strict=True):
        groups[label, target].append(row)
    for (label, _), rows_of_group in sorted(groups.items()):
        movers = under_alpha(context, rows_of_group)
        if not _may_move(context, len(movers), len(state.places.owners([label])) - len(movers)):
            continue
        moved = np.array(movers, dtype=np.int64)
        left |= leave_places(context, moved)
        publish_block(context, moved, together=True)
        state.count("groups_moved")
    return left


def _may_move(context: StepContext, n_movers: int, n_staying: int) -> bool:
    """Whether so many may leave a cohort in which so many stay."""
    spec = context.spec
    m = spec.params.group_size_min
    if not n_staying or not spec.margin:
        return n_movers >= m
    return n_movers >= spec.forming.k and n_staying >= m
