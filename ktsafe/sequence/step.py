"""One release: changes are applied to the true graph, then made visible as far as is safe."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.sequence.gate import cohort_certificate, cover
from ktsafe.sequence.memory.graph_changes import Changes, Values
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.tables import FALSE, NOBODY
from ktsafe.sequence.people.births import publish_ready
from ktsafe.sequence.people.departures import depart, retire_hollow
from ktsafe.sequence.people.frame import Frame
from ktsafe.sequence.people.qi_changes import move_groups, note_class
from ktsafe.sequence.people.sensitive_updates import keep_company, note_sensitive
from ktsafe.sequence.ties.pairs import relabel
from ktsafe.sequence.ties.planning import plan_ties


class Visible(NamedTuple):
    """Published ids of edges that appeared and disappeared, and of vertices that disappeared."""

    gained: NDArray[np.int64]
    lost: NDArray[np.int64]
    retired: NDArray[np.int64]


def make_release(
    state: State,
    frame: Frame,
    options: SequenceOptions,
    changes: Changes,
    rng: np.random.Generator,
) -> Visible:
    """Turn the current release into the next one; return what is visibly different.

    Raises
    ------
    InvalidGraph
        If the changes do not fit the true graph.
    NotKTSafe
        If the certificate does not hold in the end.
    """
    # Step 1: the true graph.
    left = apply(state, frame, changes, rng)
    # Step 2: people. Whole cohorts appear; former places stay as counterfeits.
    left |= move_groups(state, frame, options, rng)
    retire_hollow(state, frame, options, left)
    publish_ready(state, frame, options, rng)
    # Step 3: ties, pair of classes by pair of classes.
    plan_ties(state, rng, frame.effort)
    # Step 4: the gate.
    cohort_certificate.check(state, frame, state.touched)
    cover.check_cover(state)
    gained, lost = visible_edges(state)
    # Only now: what cohorts without edges lost in this release was looked at above.
    retired = _remove_bare(state)
    return Visible(gained, lost, np.array(retired, dtype=np.int64))


def visible_edges(state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the published ids of the edges that appeared, and of those that disappeared.

    Edges between two vertices that appeared with them are births, no gains.
    """
    ids, born = state.places.published[:], state.places.born[:]
    gained, lost = (
        np.array(list(edges), dtype=np.int64).reshape(-1, 2) for edges in (state.gained, state.lost)
    )
    gained = gained[(born[gained] < state.release).any(axis=1)]
    return ids[gained], ids[lost]


def apply(state: State, frame: Frame, changes: Changes, rng: np.random.Generator) -> set[int]:
    """Apply changes to the true graph; nothing but sensitive values changes visibly.

    Returns the cohorts that people left.
    """
    _remove_ties(state, changes)
    left = _depart(state, frame, changes)
    keep_company(state, frame, _change(state, frame, changes), rng)
    _join(state, changes)
    _add_ties(state, changes)
    return left


def _row(state: State, key: int) -> int:
    row = state.row_of.get(key)
    if row is None:
        raise InvalidGraph("Changes name a person who is not there.")
    return row


def _remove_ties(state: State, changes: Changes) -> None:
    """Forget true ties; a released one stays as an inserted edge.

    Those of people who leave are left to their departure, which makes them residual.
    """
    leavers = set(changes.left.tolist())
    for low, high in changes.ties_removed.tolist():
        if low in leavers or high in leavers:
            continue
        u, v = _row(state, low), _row(state, high)
        held = state.held_of.get(u, {}).get(v)
        if held is not None:
            state.unhold(held)
            _note_tie(state, u, v)
            continue
        p, q = state.place(u), state.place(v)
        edge = state.adjacent[p].get(q) if NOBODY not in (p, q) else None
        if edge is None or not state.is_true(edge):
            raise InvalidGraph("A tie is removed that is not there.")
        state.label(edge, FALSE)


def _depart(state: State, frame: Frame, changes: Changes) -> set[int]:
    """Let people leave; return the cohorts that lost one."""
    labels = {depart(state, frame, _row(state, key)) for key in changes.left.tolist()}
    return {label for label in labels if label is not None}


def _change(state: State, frame: Frame, changes: Changes) -> set[int]:
    """Note changed values; return the cohorts in which a sensitive one had to be hidden."""
    hiding = set()
    for key, values in zip(changes.changed.tolist(), changes.changed_values, strict=True):
        row = _row(state, key)
        cls, sensitive = _coded(state, values)
        note_class(state, row, cls)
        label = note_sensitive(state, frame, row, sensitive)
        if label is not None:
            hiding.add(label)
    return hiding


def _join(state: State, changes: Changes) -> None:
    for key, values in zip(changes.joined.tolist(), changes.joined_values, strict=True):
        if key in state.row_of:
            raise InvalidGraph("Somebody joins who is there already.")
        state.add_person(key, *_coded(state, values))


def _coded(state: State, values: Values) -> tuple[int, int]:
    """Return the class and the sensitive code of a person's texts; new ones get a code."""
    if len(values) != len(state.categories):
        raise InvalidGraph("Attribute values do not fit the schema.")
    codes = []
    for known, text in zip(state.categories, values, strict=True):
        if text not in known:
            known.append(text)
        codes.append(known.index(text))
    return state.class_of(tuple(codes[:-1])), codes[-1]


def _add_ties(state: State, changes: Changes) -> None:
    """Hide new ties, but for those whose edge is released already."""
    for low, high in changes.ties_added.tolist():
        u, v = _row(state, low), _row(state, high)
        p, q = state.place(u), state.place(v)
        edge = state.adjacent[p].get(q) if NOBODY not in (p, q) else None
        if v in state.held_of.get(u, {}) or (edge is not None and state.is_true(edge)):
            raise InvalidGraph("A tie is added that is there already.")
        held = state.hold(u, v)
        _note_tie(state, u, v)
        if edge is not None:
            relabel(state, held, edge)


def _note_tie(state: State, u: int, v: int) -> None:
    """Note that a hidden tie came or went, if both people are published."""
    p, q = state.place(u), state.place(v)
    if NOBODY not in (p, q):
        state.note_change(state.class_pair(p, q))


def _remove_bare(state: State) -> list[int]:
    """Remove cohorts without people and without edges, of those that lost some."""
    gone: list[int] = []
    for label in sorted(state.touched):
        members = state.members.get(label, [])
        bare = not any(state.adjacent[place] for place in members)
        if members and bare and all(state.places.owner[p] == NOBODY for p in members):
            gone += state.remove_cohort(label)
    return gone
