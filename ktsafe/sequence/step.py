"""One release: changes enter the true graph, then become visible.

Between the true graph and the gate a policy may be added as a step; their order settles draws, and
so bytes of releases. What does not fit the graph raises before anything is shown
(tests/ktsafe/sequence/test_sequence.py).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph.numbering import edge_ends, edge_keys
from ktsafe.sequence import gate
from ktsafe.sequence.cohorts import depart, move_groups, publish_ready
from ktsafe.sequence.memory.column_table import NOBODY, distinct
from ktsafe.sequence.memory.graph_changes import Changes
from ktsafe.sequence.memory.sequence_tables import ENDED, TRUE, by_classes
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.planning import plan_ties
from ktsafe.sequence.sensitive_updates import (
    exchange_values,
    keep_company,
    show_sensitive,
    shows_missing,
)
from ktsafe.sequence.step_context import StepContext, parted


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """What a release changed. Private.

    Attributes
    ----------
    release:
        Its index.
    gained, lost:
        int64, shape (x, 2): published ids of the edges that appeared between, or disappeared from
        between, vertices; edges inside a newly published block are not among them.
    born, retired:
        int64: published ids that appeared, and that disappeared.
    vacated:
        int64: published ids of the places that their owners left, which looks like nothing.
    """

    release: int
    gained: NDArray[np.int64]
    lost: NDArray[np.int64]
    born: NDArray[np.int64]
    retired: NDArray[np.int64]
    vacated: NDArray[np.int64]


def make_release(context: StepContext, changes: Changes) -> Step:
    """Make the next release of the context's state; return the differences.

    The state is a copy of the former one.

    Raises
    ------
    InvalidGraph
        If the changes do not fit the true graph.
    NotKTSafe
        If the certificate does not hold in the end.
    """
    state = context.state
    first_born, first_cohort = state.places.n, state.n_cohorts
    # Step 1: the true graph.
    left = apply(context, changes)
    # Step 2: people. Whole cohorts appear; former places stay as counterfeits.
    left |= move_groups(context)
    show_values(context, changes)
    publish_ready(context)
    exchange_values(context, first_cohort)
    # Step 3: ties.
    plan_ties(context)
    # Step 4: the gate.
    gate.check(state, context.spec, state.current.touched)
    gate.check_cover(state)
    return finished(state, first_born, left)


def finished(state: State, first_born: int, left: set[int]) -> Step:
    """Return what a release changed, and remove cohorts without edges.

    Parameters
    ----------
    first_born:
        The first place that appeared.
    left:
        Cohorts that people left.
    """
    gained = state.edges.pairs(state.current.gained.array())
    lost = edge_ends(state.current.lost.array())
    # Edges between two vertices that appeared with them are births, no gains.
    gained = gained[(gained < first_born).any(axis=1)]
    ids = state.places.published.copy()
    vacated = ids[state.places.left == state.current.number]
    # Only now: what cohorts without edges lost in this release was looked at above.
    retired = np.array(_remove_bare(state, left), dtype=np.int64)
    state.settle()
    return Step(state.current.number, ids[gained], ids[lost], ids[first_born:], retired, vacated)


def apply(context: StepContext, changes: Changes) -> set[int]:
    """Apply changes to the true graph; nothing changes visibly.

    Newcomers take rows in the order in which they are given, and all else goes by rows: keys tell
    people apart, and their order, which is that of arrival, is worth nothing.

    Returns the cohorts that people left.
    """
    state = context.state
    _note_changed(state, changes)
    _remove_ties(state, changes)
    left = depart(context, np.sort(_rows(state, changes.left)))
    # Here, whatever an erasure took out before: no inserted vertex gets a value that nobody has.
    state.forget_texts(context.spec.configured)
    _change(context, changes)
    if (state.people.rows_of(changes.joined) != NOBODY).any():
        raise InvalidGraph("A person joins that is there already.")
    cls, sensitive = state.codes.of_all(changes.joined_values)
    state.join(changes.joined, parted(context, np.full(len(cls), NOBODY), cls), sensitive)
    _add_ties(state, changes)
    return left


def _note_changed(state: State, changes: Changes) -> None:
    """Note which share of the true ties begins or ends."""
    n_ties = int((state.edges.is_true == TRUE).sum()) + len(state.hidden_ties.used())
    state.current.turns.note_changed(len(changes.ties_added) + len(changes.ties_removed), n_ties)


def _rows(state: State, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of people."""
    rows = state.people.rows_of(keys)
    if (rows == NOBODY).any():
        raise InvalidGraph("Changes name a person that is not there.")
    return rows


def _ties(state: State, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ties as pairs of rows, ascending."""
    return edge_ends(np.sort(edge_keys(_rows(state, keys))))


def _remove_ties(state: State, changes: Changes) -> None:
    """Forget true ties; a released one is known as ended.

    Those of leavers are left to their departure, which makes them residual.
    """
    leaves = np.isin(changes.ties_removed, changes.left).any(axis=1)
    ties = _ties(state, changes.ties_removed[~leaves])
    hidden_ties = state.hidden_ties.rows_of(ties)
    is_hidden = hidden_ties >= 0
    edges = state.edges.rows_of(state.people.place[ties[~is_hidden]])
    if (edges < 0).any() or (state.edges.is_true[edges] != TRUE).any():
        raise InvalidGraph("A tie is removed that is not there.")
    state.hidden_ties.free(hidden_ties[is_hidden])
    _note_ties(state, ties[is_hidden])
    state.label(edges, ENDED)


def _change(context: StepContext, changes: Changes) -> None:
    """Note changed values."""
    state = context.state
    rows = _rows(state, changes.changed)
    order = np.argsort(rows)
    rows, values = rows[order], [changes.changed_values[i] for i in order.tolist()]
    cls, sensitive = state.codes.of_all(values)
    state.people.write(rows, cls=parted(context, rows, cls), sensitive=sensitive)


def show_values(context: StepContext, changes: Changes) -> None:
    """Show changed sensitive values where they stand by now.

    No place changes as it is left.
    """
    state = context.state
    rows = np.sort(_rows(state, changes.changed))
    rows = rows[state.people.place[rows] != NOBODY]
    places = state.places.value_at[state.people.place[rows]]
    before = state.places.sensitive[places]
    for row in rows.tolist():
        show_sensitive(context, row)
    labels = state.places.cohort[places]
    went = (state.places.sensitive[places] != before) & shows_missing(context, places)
    keep_company(context, distinct(labels).tolist(), set(labels[went].tolist()))


def _add_ties(state: State, changes: Changes) -> None:
    """Hide new ties, but for those with a released edge."""
    ties = _ties(state, changes.ties_added)
    edges = state.edges.rows_of(state.people.place[ties])
    is_shown = edges != NOBODY
    is_true = state.edges.is_true[edges[is_shown]] == TRUE
    if is_true.any() or (state.hidden_ties.rows_of(ties) != NOBODY).any():
        raise InvalidGraph("A tie is added that is there already.")
    _note_ties(state, ties)
    state.hold(ties[~is_shown], state.current.number)
    state.relabel(edges[is_shown], state.current.number)


def _note_ties(state: State, ties: NDArray[np.int64]) -> None:
    """Note hidden ties that came or went between published people."""
    classes = state.class_pairs(state.hidden_ties, ties)
    for pair, there in by_classes(classes, np.arange(len(ties))):
        state.current.note_change(pair, len(there))


def _remove_bare(state: State, left: set[int]) -> list[int]:
    """Remove cohorts without people and without edges, of those that lost some.

    Return their ids.

    In a deserted group no tie is true, so it has no edges.
    """
    members = state.places.members
    labels = sorted(label for label in state.current.touched | left if label in members)
    bare = [label for label in labels if (state.places.owner[members[label]] == NOBODY).all()]
    places = np.concatenate([np.zeros(0, dtype=np.int64), *(members[label] for label in bare)])
    shows = set(state.places.cohort[places[state.edges.around(places)[0]]].tolist())
    return state.remove_cohorts([label for label in bare if label not in shows])
