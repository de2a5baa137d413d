"""A block: people first published together, in cohorts of their own.

Cohorts are formed from what is known by then: the leaves of the kt-tree over the counts of
true neighbours in every class. A block begins without edges; which ties of its people are shown is
planned with everybody else's (`ktsafe.sequence.ties.planning`).
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.exact.kt_tree import cohorts_of_class
from ktsafe.sequence.memory.column_table import NOBODY, ROWS_AT_ONCE, among, distinct
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.step_context import StepContext

PUBLISHED_END = 2**62
"""Published ids are drawn below this."""


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
        calls.append((places, counts[first:last], ever, _nodes(context, cls, people, ever)))
    state.assign_places(settled, np.concatenate(published))
    if not calls:
        return
    # A class is a part: its cohorts need no other class.
    whose, rows_of_counts, ever, nodes = zip(*calls, strict=True)
    forming, seeds = repeat(context.spec.forming), context.seeds(len(calls))
    found = context.run(cohorts_of_class, rows_of_counts, ever, forming, seeds, nodes)
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
    for start in range(0, len(ties), ROWS_AT_ONCE):
        ends = state.hidden_ties.ends(ties[start : start + ROWS_AT_ONCE])
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
    texts = context.state.codes.sensitive
    is_sensitive = np.array(
        [context.is_sensitive(code) for code in range(len(texts))], dtype=np.bool_
    )
    published = draw_published(context, len(classes))
    return context.state.add_places(published, classes, codes, is_sensitive[codes])


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
