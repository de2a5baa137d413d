"""Groups: people published together first, and their permanent places.

A newcomer waits until a whole group can be filled with people of one class. Within the groups that
appear together people are seated so that their ties share orbits
(`ktsafe_lab.alignment.aligned_strategy`); seats never change afterwards.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.request import AnonymizeOptions, Request
from ktsafe.graph import AttributedGraph
from ktsafe.sequence.cohorts import come_apart, draw_published, margin, waiting
from ktsafe.sequence.memory.codes import GONE
from ktsafe.sequence.step_context import StepContext
from ktsafe_lab.strategies import LabRelease, everybody


def publish_ready(context: StepContext) -> None:
    """Publish newcomers of classes with enough, at random under alpha."""
    ready = [row for rows in waiting(context.state) for row in _filling(context, rows)]
    if ready:
        publish_groups(context, sorted(ready))


def publish_groups(context: StepContext, rows: list[int]) -> None:
    """Give people places in new groups.

    Empty places are filled with inserted ones.
    """
    state = context.state
    order = np.array(rows, dtype=np.int64)[context.rng.permutation(len(rows))]
    seated = _seated(context, order)
    assert seated.shift is not None
    groups = _groups(seated.shift)
    # Places of a group ascend in the order of the shift, so the state need not know positions.
    vertices = np.concatenate(groups)
    places = _add_places(context, seated.graph, vertices)
    ends = np.cumsum([len(group) for group in groups])
    for own in np.split(places, ends[:-1]):
        state.form_cohorts(own)
    origin = seated.origin[vertices]
    state.assign_places(order[origin[origin >= 0]], places[origin >= 0])


def _filling(context: StepContext, rows: list[int]) -> list[int]:
    """Return people that fill whole groups of a class; others wait."""
    m = context.spec.forming.group_size_min
    if len(rows) < m + margin(context) or not come_apart(context.state, rows):
        return []
    flags = [context.has_sensitive_value(row) for row in rows]
    flagged, cap = sum(flags), int(context.spec.forming.alpha * m)
    harmless = len(rows) - flagged
    n_groups = len(rows) // m
    while harmless + min(flagged, n_groups * cap) < n_groups * m:
        n_groups -= 1
    chosen: list[int] = []
    room = n_groups * cap
    for i in context.rng.permutation(len(rows)).tolist():
        if len(chosen) < n_groups * m and (not flags[i] or room > 0):
            chosen.append(rows[i])
            room -= flags[i]
    return chosen


def _seated(context: StepContext, rows: NDArray[np.int64]) -> LabRelease:
    """Return the true graph on groups, with the shift of places."""
    spec = context.spec
    true, keys = context.state.truth(spec.schema)
    graph = true.subgraph(np.searchsorted(keys, context.state.people.key[rows]))
    # No inserted vertex gets a value that nobody has.
    gone = {text for text in graph.categories[-1] if text.startswith(GONE)}
    values = graph.schema.sensitive_values | gone
    schema = dataclasses.replace(graph.schema, sensitive_values=values)
    graph = AttributedGraph.from_codes(schema, graph.categories, graph.codes, graph.edges)
    # Seats are the same for every radius, but for n = 0 the strategy would make none.
    params = dataclasses.replace(spec.forming, n_hops=max(spec.forming.n_hops, 1))
    chosen = AnonymizeOptions(effort=spec.options.effort)
    return everybody(Request(graph, params, context.rng, chosen), "aligned")


def _groups(shift: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Return the shift's orbits, each in order, by least vertices."""
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


def _add_places(
    context: StepContext, released: AttributedGraph, vertices: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add a place without edges for each given vertex, in order."""
    known = context.state.codes
    known.categories[-1] += released.categories[-1][len(known.sensitive) :]
    codes = released.codes[vertices]
    classes = released.qi_classes[vertices]
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    numbers = [known.class_of(tuple(codes[i, :-1].tolist())) for i in first.tolist()]
    return context.state.add_places(
        draw_published(context, len(vertices)),
        np.array(numbers, dtype=np.int64)[inverse.reshape(-1)],
        codes[:, -1].astype(np.int64),
        released.is_sensitive[vertices],
    )
