"""A block: people who are published for the first time together, on exact locations.

The ties inside a block are anonymized at once, with t = 0 and epsilon = 0, so that the members of
every location share one closed histogram: each location becomes a cohort. Ties to people outside
the block are held back and published by raises.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymize import AnonymizeOptions, anonymize
from ktsafe.attributes.inserted_values import with_inserted
from ktsafe.errors import Infeasible
from ktsafe.graph import MISSING, AttributedGraph, Schema
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.sequence.exact.exact_plan import exact_plan
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.table import FREE

ATTEMPTS = 3
"""Anonymizations of a block that may not be padded."""

PUBLISHED_END = 2**62
"""Published ids are drawn below this."""


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """What is fixed for a whole sequence, as far as blocks need it."""

    schema: Schema
    params: PrivacyParams
    exact: PrivacyParams
    effort: Effort

    @classmethod
    def of(cls, schema: Schema, params: PrivacyParams, reserve: Fraction, effort: Effort) -> Frame:
        """Derive the parameters of exact locations: groups of m, and alpha less its reserve."""
        alpha = params.alpha * (1 - reserve)
        exact = dataclasses.replace(
            params, k=params.group_size_min, t=Fraction(0), epsilon=0, alpha=alpha
        )
        return cls(schema, params, exact, effort)

    def is_sensitive(self, text: str) -> bool:
        """Whether a text of the sensitive attribute counts as sensitive."""
        return text in self.schema.sensitive_values


def publish_block(
    state: State,
    frame: Frame,
    rows: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    padded: bool = False,
    with_ties: bool = True,
) -> None:
    """Publish withheld people together.

    Parameters
    ----------
    rows:
        Their rows of `people`, int64, in an order that says nothing.
    padded:
        Whether a cohort may owe members to inserted vertices: else each has k people, or none.
    with_ties:
        Whether the ties among them are published too. Otherwise, and where no anonymization was
        found without padding, they begin without ties, one cohort per class.
    """
    attempts = ATTEMPTS if with_ties and not padded else int(with_ties)
    for attempt in range(attempts):
        graph, held = _true_graph(state, frame, rows)
        released, groups = _anonymized(graph, frame, rng, is_first=attempt == 0)
        if padded or _has_people(groups, len(rows), frame.params.k):
            break
    else:
        graph, held = _true_graph(state, frame, rows)
        graph, held = _edgeless(graph), []
        released, groups = _anonymized(graph, frame, rng, is_first=False)
    places = add_places(state, released, np.arange(released.n_vertices), rng)
    for row in held:
        state.unhold(row)
    for row, place in zip(rows.tolist(), places.tolist(), strict=False):
        state.settle(row, place)
    _add_edges(state, places, graph, released)
    for group in groups:
        state.form_cohort(places[group].tolist())


def _anonymized(
    graph: AttributedGraph, frame: Frame, rng: np.random.Generator, *, is_first: bool
) -> tuple[AttributedGraph, list[NDArray[np.int64]]]:
    """Return the block on exact locations, and the vertices of each.

    The search for exact locations is tried first, the one for a single release afterwards.
    """
    plan = exact_plan(graph, frame.exact, frame.effort, rng) if is_first else None
    if plan is not None:
        released = with_inserted(graph, plan, frame.exact, rng)
    else:
        options = AnonymizeOptions(effort=frame.effort)
        released = anonymize(graph, frame.exact, rng=rng, options=options).graph
    return released, _locations(released)


def _has_people(groups: list[NDArray[np.int64]], n_people: int, k: int) -> bool:
    """Whether every group holds k people or none; people come first."""
    counts = [int((group < n_people).sum()) for group in groups]
    return all(count == 0 or count >= k for count in counts)


def _edgeless(graph: AttributedGraph) -> AttributedGraph:
    return AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, [])


def draw_published(state: State, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw published ids that were never given before.

    A collision among 2**62 numbers is not expected in any lifetime, and would be found by the
    certificate; ids of removed places are not kept for comparison.
    """
    drawn = rng.integers(0, PUBLISHED_END, count, dtype=np.int64)
    taken = state.places.rows[:, st.PUBLISHED]
    while len(np.unique(drawn)) < count or np.isin(drawn, taken).any():
        drawn = rng.integers(0, PUBLISHED_END, count, dtype=np.int64)
    return drawn


def _true_graph(
    state: State, frame: Frame, rows: NDArray[np.int64]
) -> tuple[AttributedGraph, list[int]]:
    """Return the true graph on the given people, and the rows of its ties that are held back."""
    position = {row: i for i, row in enumerate(rows.tolist())}
    pairs, held = [], []
    for u, i in position.items():
        for v in sorted(state.held_of.get(u, {})):
            if u < v and v in position:
                pairs.append((i, position[v]))
                held.append(state.held_of[u][v])
    people = state.people.rows[rows]
    codes = np.empty((len(rows), len(state.categories)), dtype=np.int32)
    table = np.array(state.classes, dtype=np.int32).reshape(len(state.classes), -1)
    codes[:, :-1] = table[people[:, st.TRUE_CLS]]
    codes[:, -1] = people[:, st.TRUE_SENSITIVE]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return AttributedGraph.from_codes(frame.schema, state.categories, codes, edges), held


def add_places(
    state: State,
    released: AttributedGraph,
    vertices: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Add a place without edges for each of the given vertices of a release, in their order."""
    for text in released.categories[-1][len(state.categories[-1]) :]:
        state.categories[-1].append(text)
    n, codes = len(vertices), released.codes[vertices]
    classes = released.qi_classes[vertices]
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    numbers = [state.class_of(tuple(codes[i, :-1].tolist())) for i in first.tolist()]
    values = np.empty((n, len(state.places.columns)), dtype=np.int64)
    values[:, st.PUBLISHED] = draw_published(state, n, rng)
    values[:, st.CLS] = np.array(numbers, dtype=np.int64)[inverse.reshape(-1)]
    values[:, st.SENSITIVE] = codes[:, -1]
    values[:, st.EVER] = released.is_sensitive[vertices]
    values[:, [st.COHORT, st.OWNER, st.KIND]] = FREE, st.NOBODY, st.INSERTED
    values[:, [st.BORN, st.LEFT]] = state.release, st.NEVER
    state.adjacent.extend({} for _ in range(n))
    state.cls_of.extend(values[:, st.CLS].tolist())
    return state.places.add_many(values)


def _add_edges(
    state: State,
    places: NDArray[np.int64],
    true: AttributedGraph,
    released: AttributedGraph,
) -> None:
    """Release the edges of a block, whose places ascend; they are visible as births, not gains."""
    n = released.n_vertices
    pairs = released.edges.astype(np.int64)
    known = true.edges.astype(np.int64)
    is_true = np.isin(pairs[:, 0] * n + pairs[:, 1], known[:, 0] * n + known[:, 1])
    values = np.column_stack(
        (places[pairs], is_true.astype(np.int64), np.full(len(pairs), state.release))
    )
    numbers = state.edges.add_many(values)
    for row, low, high in zip(numbers.tolist(), *places[pairs].T.tolist(), strict=True):
        state.adjacent[low][high] = row
        state.adjacent[high][low] = row
    state.index_edges(numbers)


def _locations(released: AttributedGraph) -> list[NDArray[np.int64]]:
    """Return the vertices of every exact location: class and neighbour counts per attribute."""
    offsets = np.cumsum([0] + [len(texts) for texts in released.categories[:-1]])
    n, width = released.n_vertices, int(offsets[-1])
    source = np.repeat(np.arange(n), released.degrees)
    counts = np.zeros(n * width, dtype=np.int64)
    for j, offset in enumerate(offsets[:-1].tolist()):
        cells = source * width + offset + released.codes[released.indices, j]
        counts += np.bincount(cells, minlength=n * width)
    profile = np.column_stack((released.qi_classes, released.degrees, counts.reshape(n, width)))
    _, inverse = np.unique(profile, axis=0, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    starts = np.flatnonzero(np.diff(inverse.reshape(-1)[order])) + 1
    return np.split(order, starts) if n else []


def insert_places(
    state: State, frame: Frame, cls: int, count: int, rng: np.random.Generator
) -> list[int]:
    """Add a cohort of inserted, non-sensitive places of one class, without edges yet."""
    published = draw_published(state, count, rng).tolist()
    harmless = harmless_codes(state, frame)
    codes = rng.choice(harmless, count).tolist()
    places = [
        state.add_place(number, cls, code, ever=False)
        for number, code in zip(published, codes, strict=True)
    ]
    state.form_cohort(places)
    return places


def harmless_codes(state: State, frame: Frame) -> list[int]:
    """Return the codes of the sensitive attribute's values that are not sensitive.

    Raises
    ------
    Infeasible
        If there is none, not even the missing value.
    """
    texts = state.categories[-1]
    if MISSING not in texts and all(frame.is_sensitive(text) for text in texts):
        texts.append(MISSING)
    codes = [code for code, text in enumerate(texts) if not frame.is_sensitive(text)]
    if not codes:
        raise Infeasible(
            "Inserted vertices must be non-sensitive, but every value is sensitive.",
            hint=f"Do not declare {MISSING!r} sensitive.",
        )
    return codes
