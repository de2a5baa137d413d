"""Values that places show: exchanged in groups, drawn for inserted vertices.

Which member gets whose is drawn uniformly among all permutations of the group. So whoever knows the
values of a whole group, and the place of none, learns of no place more than that. If everybody got
another one's (a derangement, a cyclic shift), a place would be known not to be that of a person who
has the value alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ktsafe.anonymization.strategies import Plan
from ktsafe.errors import Infeasible
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.params import PrivacyParams


def of_purpose(rng: np.random.Generator, purpose: str) -> np.random.Generator:
    """Return a generator for one purpose.

    It follows from another one, which stays as it is.

    What the other one draws tells nothing of it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(of_purpose(rng, "values").random() == rng.random())
    False
    >>> bool(rng.random() == np.random.default_rng(1).random(2)[1])
    True
    """
    state = json.dumps(rng.bit_generator.state, sort_keys=True, default=lambda each: each.tolist())
    drawn = hashlib.sha256(f"{purpose} {state}".encode()).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))


def places_of_values(groups: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each member the member of its group showing its value.

    Parameters
    ----------
    groups:
        Integers, shape (n,): the group of each member.

    Examples
    --------
    >>> at = places_of_values(np.array([0, 1, 0, 1]), np.random.default_rng(0))
    >>> sorted(at[[0, 2]].tolist()), sorted(at[[1, 3]].tolist())
    ([0, 2], [1, 3])
    """
    # The order of each group in one permutation of all is uniform, and says nothing of others.
    by_chance = np.lexsort((rng.permutation(len(groups)), groups))
    at = np.empty(len(groups), dtype=np.int64)
    at[np.argsort(groups, kind="stable")] = by_chance
    return at


# The columns in which neighbourhoods count the values of quasi-identifiers.
#
# With n = 1 a neighbourhood is a star, and all that the definition reads from it is the degree and,
# for each quasi-identifier, how often each value occurs among the vertex and its neighbours.


@dataclasses.dataclass(frozen=True, eq=False)
class QuasiIdentifierSpace:
    """The quasi-identifier tuples in a graph, and their columns of counts.

    Attributes
    ----------
    tuples:
        int32, shape (classes, q): the codes of each class.
    offsets:
        int64, shape (q + 1,): attribute j counts in columns offsets[j]..offsets[j + 1] - 1.
    columns:
        int64, shape (classes, q): the columns in which a vertex of each class counts.
    """

    tuples: NDArray[np.int32]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of distinct quasi-identifier tuples."""
        return len(self.tuples)

    @property
    def n_columns(self) -> int:
        """Columns of a histogram row."""
        return int(self.offsets[-1])

    @classmethod
    def of_graph(cls, graph: AttributedGraph) -> QuasiIdentifierSpace:
        """Collect the tuples of `graph`; classes are numbered as in `graph.qi_classes`.

        Only values that occur get a column: absent ones could never be counted.
        """
        n_classes = int(graph.qi_classes.max(initial=-1)) + 1
        q = graph.codes.shape[1] - 1
        tuples = np.zeros((n_classes, q), dtype=np.int32)
        tuples[graph.qi_classes] = graph.codes[:, :-1]
        offsets = np.zeros(q + 1, dtype=np.int64)
        columns = np.zeros((n_classes, q), dtype=np.int64)
        for j in range(q):
            values, dense = np.unique(tuples[:, j], return_inverse=True)
            columns[:, j] = offsets[j] + dense.reshape(-1)
            offsets[j + 1] = offsets[j] + len(values)
        return cls(tuples, offsets, columns)


# Sensitive values of inserted vertices.
#
# Some sensitive ones, so no value means "real".
#
# If inserted vertices never showed a sensitive value, a vertex with one would be known to be real.
# So inserted vertices turn sensitive at random. In every class of quasi-identifiers their sensitive
# share is that of the real vertices, as far as every protection set stays within alpha.


def with_inserted(
    graph: AttributedGraph, plan: Plan, params: PrivacyParams, rng: np.random.Generator
) -> AttributedGraph:
    """Return the planned release of `graph`; inserted vertices get sensitive attributes.

    Each value, sensitive or not, is as frequent among inserted vertices of its kind as among real
    ones. Nobody turns sensitive where protection sets are neither those of stars nor certified by
    an automorphism. Vertices that copy an original keep its value.

    Raises
    ------
    Infeasible
        If inserted vertices cannot be non-sensitive.
    """
    released = _with_harmless(graph, plan, rng)
    n, n_released = graph.n_vertices, released.n_vertices
    if n == n_released or not graph.is_sensitive.any():
        return released
    order = rng.permutation(np.arange(n, n_released, dtype=np.int32))
    if plan.copied_from is not None:
        order = order[plan.copied_from[order - n] < 0]
    wanted = wanted_sensitive(released, n, order, rng)
    chosen: list[int] = []
    if plan.shift is not None:
        chosen = _made_sensitive(released, orbits_of(plan.shift), order, wanted, params)
    elif params.sees_stars and wanted.any():
        chosen = _made_sensitive(released, _locations(released), order, wanted, params)
    sensitive = [text in graph.schema.sensitive_values for text in released.categories[-1]]
    codes = released.codes.copy()
    codes[chosen, -1] = drawn_values(released, n, np.flatnonzero(sensitive), len(chosen), rng)
    return AttributedGraph.from_codes(graph.schema, released.categories, codes, released.edges)


def _with_harmless(graph: AttributedGraph, plan: Plan, rng: np.random.Generator) -> AttributedGraph:
    """Return the planned release with harmless inserted vertices, or copies."""
    categories, codes = graph.categories, graph.codes
    if len(plan.inserted):
        categories, harmless = harmless_codes(graph)
        rows = np.empty((len(plan.inserted), codes.shape[1]), dtype=np.int32)
        rows[:, :-1] = QuasiIdentifierSpace.of_graph(graph).tuples[plan.inserted]
        rows[:, -1] = drawn_values(graph, graph.n_vertices, harmless, len(rows), rng)
        if plan.copied_from is not None:
            copies = plan.copied_from >= 0
            rows[copies] = codes[plan.copied_from[copies]]
        codes = np.concatenate((codes, rows))
    return AttributedGraph.from_codes(graph.schema, categories, codes, plan.edges)


def harmless_codes(
    graph: AttributedGraph,
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int64]]:
    """Return the sensitive attribute's harmless codes, and categories with them.

    Raises
    ------
    Infeasible
        If there are none and "missing" is sensitive, too.
    """
    categories, values = graph.categories, graph.schema.sensitive_values
    harmless = [code for code, text in enumerate(categories[-1]) if text not in values]
    if not harmless:
        if MISSING in values:
            msg = "Inserted vertices must be non-sensitive, but every value is sensitive."
            raise Infeasible(msg, hint=f"Do not declare {MISSING!r} sensitive.")
        categories = (*categories[:-1], (*categories[-1], MISSING))
        harmless = [len(categories[-1]) - 1]
    return categories, np.array(harmless, dtype=np.int64)


def drawn_values(
    graph: AttributedGraph,
    n_real: int,
    allowed: NDArray[np.int64],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw `count` allowed codes, as frequent as among `n_real` vertices.

    These are the first ones.
    """
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    top = int(allowed.max()) + 1
    weights = 1 + np.bincount(graph.codes[:n_real, -1], minlength=top)[allowed]
    drawn: NDArray[np.int64] = rng.choice(allowed, size=count, p=weights / weights.sum())
    return drawn


def wanted_sensitive(
    released: AttributedGraph, n_real: int, inserted: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return each class's inserted sensitive vertices at the real share."""
    classes = released.qi_classes
    n_classes = int(classes.max()) + 1
    real = np.bincount(classes[:n_real], minlength=n_classes)
    sensitive = np.bincount(classes[:n_real], released.is_sensitive[:n_real], minlength=n_classes)
    share = sensitive / np.maximum(real, 1)
    expected = np.bincount(classes[inserted], minlength=n_classes) * share
    wanted: NDArray[np.int64] = np.floor(expected + rng.random(n_classes)).astype(np.int64)
    return wanted


def orbits_of(shift: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the orbit of every vertex under a permutation.

    Apart from the verifier, which checks that the permutation is an automorphism.
    """
    n = len(shift)
    arrows = coo_array((np.ones(n, dtype=np.int8), (np.arange(n), shift)), shape=(n, n))
    orbits: NDArray[np.int64] = connected_components(arrows, directed=False)[1].astype(np.int64)
    return orbits


def _locations(released: AttributedGraph) -> NDArray[np.int64]:
    """Return the location of every vertex: class, degree, and neighbours by value.

    Every protection set of stars is a union of locations.
    """
    space = QuasiIdentifierSpace.of_graph(released)
    rows = np.zeros((released.n_vertices, 2 + space.n_columns), dtype=np.int64)
    rows[:, 0], rows[:, 1] = released.qi_classes, np.diff(released.indptr)
    for column in space.columns[released.qi_classes].T:
        np.add.at(rows, (released.edges, 2 + column[released.edges[:, ::-1]]), 1)
    locations: NDArray[np.int64] = np.unique(rows, axis=0, return_inverse=True)[1]
    return locations


def _made_sensitive(
    released: AttributedGraph,
    groups: NDArray[np.int64],
    order: NDArray[np.int32],
    wanted: NDArray[np.int64],
    params: PrivacyParams,
) -> list[int]:
    """Return the vertices to turn sensitive.

    Every group stays within alpha, and so does every union of groups. In a class with a group that
    is not within alpha nobody turns: other groups may make up for it.
    """
    classes, chosen = released.qi_classes, []
    room = np.bincount(groups) * params.alpha.numerator // params.alpha.denominator
    room -= np.bincount(groups, released.is_sensitive).astype(np.int64)
    wanted[classes[room[groups] < 0]] = 0
    for v in order.tolist():
        if wanted[classes[v]] > 0 and room[groups[v]] > 0:
            wanted[classes[v]] -= 1
            room[groups[v]] -= 1
            chosen.append(v)
    return chosen
