"""Groups: who is published together for the first time, and which place each gets for ever.

A newcomer waits until a whole group can be filled with people of one class, or, where inserted
places may fill it, for `birth_wait_max` releases. Within the groups that appear together people
are seated so that their ties share orbits (`ktsafe.alignment.aligned_strategy`); seats never change
afterwards.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.options import AnonymizeOptions
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.truth import truth_of
from ktsafe.sequence.people.births import come_apart, is_sensitive, margin, shall_be_padded, waiting
from ktsafe.sequence.people.blocks import draw_published
from ktsafe.sequence.people.frame import Frame
from ktsafe.single_release import Anonymized, anonymize_in_order
from ktsafe.strategies import Request


def publish_ready(
    state: State, frame: Frame, options: SequenceOptions, rng: np.random.Generator
) -> None:
    """Publish the newcomers of every class in which enough wait, drawn at random under alpha."""
    ready: list[int] = []
    for rows in waiting(state):
        chosen = _filling(state, frame, options, rows, rng)
        if shall_be_padded(state, options, rows):
            chosen = rows
        ready += chosen
    if ready:
        publish_groups(state, frame, sorted(ready), rng)


def publish_groups(
    state: State,
    frame: Frame,
    rows: list[int],
    rng: np.random.Generator,
) -> None:
    """Give people places in new groups; empty places are filled with inserted ones."""
    order = np.array(rows, dtype=np.int64)[rng.permutation(len(rows))]
    seated = _seated(_true_graph(state, frame, order), frame, rng)
    assert seated.shift is not None
    groups = _groups(seated.shift)
    # Places of a group ascend in the order of the shift, so the state need not know positions.
    vertices = np.concatenate(groups)
    places = _add_places(state, seated.graph, vertices, rng)
    for group, own in zip(groups, _split(places, groups), strict=True):
        state.form_cohort(own.tolist())
        for vertex, place in zip(group.tolist(), own.tolist(), strict=True):
            if seated.origin[vertex] >= 0:
                state.settle(int(order[seated.origin[vertex]]), place)


def _filling(
    state: State,
    frame: Frame,
    options: SequenceOptions,
    rows: list[int],
    rng: np.random.Generator,
) -> list[int]:
    """Return people of one class who fill whole groups, as many as possible; the others wait."""
    m = frame.forming.group_size_min
    if len(rows) < m + margin(state, options) or not come_apart(state, rows):
        return []
    flags = [is_sensitive(state, frame, row) for row in rows]
    flagged, cap = sum(flags), int(frame.forming.alpha * m)
    harmless = len(rows) - flagged
    n_groups = len(rows) // m
    while harmless + min(flagged, n_groups * cap) < n_groups * m:
        n_groups -= 1
    chosen: list[int] = []
    room = n_groups * cap
    for i in rng.permutation(len(rows)).tolist():
        if len(chosen) < n_groups * m and (not flags[i] or room > 0):
            chosen.append(rows[i])
            room -= flags[i]
    return chosen


def _true_graph(state: State, frame: Frame, rows: NDArray[np.int64]) -> AttributedGraph:
    """Return the true graph on the given people."""
    graph, keys = truth_of(state, frame.schema)
    return graph.subgraph(np.searchsorted(keys, state.people.key[rows]))


def _seated(graph: AttributedGraph, frame: Frame, rng: np.random.Generator) -> Anonymized:
    """Return the graph on groups, with the shift that takes each place to the next."""
    # Seats are the same for every radius, but for n = 0 the strategy would make none.
    params = dataclasses.replace(frame.forming, n_hops=max(frame.forming.n_hops, 1))
    # Who may join a group was decided before: nobody is withheld, no value is hidden here.
    chosen = AnonymizeOptions(
        effort=frame.effort,
        strategy="aligned",
        rare_qi="pad",
        over_alpha="pad",
    )
    return anonymize_in_order(Request(graph, params, rng, chosen))


def _groups(shift: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Return the orbits of the shift, each in its order, by their least vertices."""
    image = shift.tolist()
    seen = [False] * len(image)
    groups = []
    for start in range(len(image)):
        group, vertex = [], start
        while not seen[vertex]:
            seen[vertex] = True
            group.append(vertex)
            vertex = image[vertex]
        if group:
            groups.append(np.array(group, dtype=np.int64))
    return groups


def _split(places: NDArray[np.int64], groups: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    return np.split(places, np.cumsum([len(group) for group in groups])[:-1])


def _add_places(
    state: State,
    released: AttributedGraph,
    vertices: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Add a place without edges for each of the given vertices of a release, in their order."""
    for text in released.categories[-1][len(state.categories[-1]) :]:
        state.categories[-1].append(text)
    codes = released.codes[vertices]
    classes = released.qi_classes[vertices]
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    numbers = [state.class_of(tuple(codes[i, :-1].tolist())) for i in first.tolist()]
    return state.add_places(
        draw_published(state, len(vertices), rng),
        np.array(numbers, dtype=np.int64)[inverse.reshape(-1)],
        codes[:, -1].astype(np.int64),
        released.is_sensitive[vertices],
    )
