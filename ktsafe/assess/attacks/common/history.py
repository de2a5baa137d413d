"""A sequence under attack, and what its releases show together.

Vertices and people are numbered once for all.

Memory and sampling may be changed. Numbers stand for people and published ids, so that no attack
can use a name; counts are compared with literal ones in
tests/ktsafe/assess/attacks/test_sequences.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case, banded
from ktsafe.assess.attacks.common.nearest import Standing, neighbour_counts
from ktsafe.assess.attacks.common.result import Result, standing_result
from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import (
    CameAndWent,
    are_distinct,
    came_and_went,
    classes_of,
    edge_keys,
    renumbered,
    sums_of_neighbours,
)
from ktsafe.params import PrivacyParams

ABSENT = -1


class VertexKinds(NamedTuple):
    """Per release the kinds of true and released vertices, and their number.

    Equal kinds have equal numbers in all graphs.
    """

    true: Sequence[NDArray[np.int64]]
    shown: Sequence[NDArray[np.int64]]
    size: int


@dataclasses.dataclass(frozen=True, eq=False)
class History:
    """Releases in order, with the truth behind each.

    Attributes
    ----------
    cases:
        One per release.
    ids:
        Per release int64, shape (released vertices,): a number for each published id, the same in
        every release.
    persons:
        Per release int64, shape (original vertices,): a number for each person, likewise.
    vacated:
        Per release int64: numbers of ids whose owner is said to have left since the release before.
        The cases may not contain them: departed people are erased from past mappings. Empty:
        nothing is known.
    steps:
        Per release but the first the ties of persons and the edges of ids that came and went since
        the one before, as `edge_keys`. Empty: they are worked out of the graphs.

    Raises
    ------
    InvalidGraph
        If the numbers do not fit the graphs, or one stands for two vertices of a graph.
    """

    cases: Sequence[Case]
    ids: Sequence[NDArray[np.int64]]
    persons: Sequence[NDArray[np.int64]]
    vacated: Sequence[NDArray[np.int64]] = ()
    steps: Sequence[tuple[CameAndWent, CameAndWent]] = ()

    def __post_init__(self) -> None:
        if not len(self.cases) == len(self.ids) == len(self.persons):
            raise InvalidGraph("There must be ids and persons for every release.")
        if len(self.vacated) not in (0, len(self.cases)):
            raise InvalidGraph("What was vacated must be said for every release, or for none.")
        for case, ids, persons in zip(self.cases, self.ids, self.persons, strict=True):
            for numbers, graph in ((ids, case.released), (persons, case.original)):
                if len(numbers) != graph.n_vertices or not are_distinct(numbers):
                    raise InvalidGraph("There must be one number of its own for every vertex.")

    @classmethod
    def of(cls, case: Case) -> History:
        """Return a release by itself as a history of one."""
        ids, persons = (np.arange(graph.n_vertices) for graph in (case.released, case.original))
        return cls([case], [ids], [persons])

    def last(self, n: int) -> History:
        """Return the last n releases alone."""
        first = max(len(self.cases) - n, 0)
        named = self.ids[first:], self.persons[first:], self.vacated[first:]
        return History(self.cases[first:], *named, self.steps[first:])

    @cached_property
    def n_ids(self) -> int:
        """One more than the greatest number of a published id."""
        return 1 + max((int(ids.max(initial=-1)) for ids in self.ids), default=-1)

    @cached_property
    def n_persons(self) -> int:
        """One more than the greatest number of a person."""
        return 1 + max((int(persons.max(initial=-1)) for persons in self.persons), default=-1)

    @cached_property
    def tuples(self) -> VertexKinds:
        """Vertices by quasi-identifier tuple."""
        number: dict[tuple[str, ...], int] = {}
        true = [_numbered(case.original, number) for case in self.cases]
        shown = [_numbered(case.released, number) for case in self.cases]
        return VertexKinds(true, shown, len(number))

    def split(
        self, by: Callable[[AttributedGraph], NDArray[np.int64]], n_parts: int
    ) -> VertexKinds:
        """Return the tuples, each split by what `by` says of vertices.

        Numbers below `n_parts`.
        """
        true, shown, size = self.tuples
        return VertexKinds(
            [x * n_parts + by(case.original) for x, case in zip(true, self.cases, strict=True)],
            [x * n_parts + by(case.released) for x, case in zip(shown, self.cases, strict=True)],
            size * n_parts,
        )

    def owners(self, i: int) -> NDArray[np.int64]:
        """Return the person behind each id at release i, else `ABSENT`, (n_ids,)."""
        out = np.full(self.n_ids, ABSENT, dtype=np.int64)
        case = self.cases[i]
        out[self.ids[i][case.published]] = self.persons[i][case.original_of[case.published]]
        return out

    def left_at(self, i: int) -> NDArray[np.bool_]:
        """Return whether each former id lost its owner by release i, (n_ids,).

        The owner left the network, or waits to be published elsewhere.
        """
        before = self.owners(i - 1)
        left: NDArray[np.bool_] = (before != ABSENT) & (self.owners(i) != before)
        if len(self.vacated):
            left[self.vacated[i]] = True
        left &= self.tuples_of_ids(i - 1) != ABSENT
        return left

    def ties_changed(self, first: int, last: int) -> CameAndWent:
        """Return keys of true ties at `last` only, and at `first` only."""
        if self.steps:
            return reduce(CameAndWent.then, (ties for ties, _ in self.steps[first:last]))
        return came_and_went(
            *(tie_keys(self.persons[i], self.cases[i].original) for i in (first, last))
        )

    def edges_changed(self, first: int, last: int) -> CameAndWent:
        """Return keys of released edges at `last` only, and `first` only."""
        if self.steps:
            return reduce(CameAndWent.then, (edges for _, edges in self.steps[first:last]))
        return came_and_went(
            *(tie_keys(self.ids[i], self.cases[i].released) for i in (first, last))
        )

    @cached_property
    def values(self) -> list[NDArray[np.int64]]:
        """Per release the sensitive value's number of each id, else `ABSENT`.

        Equal values have equal numbers in all releases.
        """
        number: dict[str, int] = {}
        out = []
        for case, ids in zip(self.cases, self.ids, strict=True):
            texts = case.released.categories[-1]
            numbers = np.array([number.setdefault(x, len(number)) for x in texts], dtype=np.int64)
            shown = np.full(self.n_ids, ABSENT, dtype=np.int64)
            shown[ids] = numbers[case.released.codes[:, -1]]
            out.append(shown)
        return out

    def tuples_of_ids(self, i: int) -> NDArray[np.int64]:
        """Return each id's published tuple at release i, else `ABSENT`."""
        out = np.full(self.n_ids, ABSENT, dtype=np.int64)
        out[self.ids[i]] = self.tuples[1][i]
        return out

    def sums_of_neighbours(self, i: int, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the total weight of each id's neighbours' tuples, (n_ids,)."""
        graph, weight = self.cases[i].released, weights[self.tuples[1][i]]
        found = np.zeros(self.n_ids, dtype=np.int64)
        found[self.ids[i]] = sums_of_neighbours(graph.indptr, graph.indices, weight)
        return found

    def known(
        self,
        i: int,
        people: NDArray[np.int64],
        kinds: VertexKinds | None = None,
        worth: NDArray[np.int64] | None = None,
    ) -> sparse.csr_matrix:
        """Return counts of people's true neighbours by kind, (people, kinds).

        `kinds` are tuples by default. `worth` is what each of `original.indices` counts, else 1.
        """
        true, _, size = kinds or self.tuples
        at = np.flatnonzero(np.isin(self.persons[i], people))
        rows = neighbour_counts(self.cases[i].original, true[i], size, worth, at)
        return _placed(rows, self.persons[i][at], self.n_persons)[people]

    def seen(self, i: int, kinds: VertexKinds | None = None) -> sparse.csr_matrix:
        """Return counts of every id's released neighbours by kind, (n_ids, kinds)."""
        _, shown, size = kinds or self.tuples
        rows = neighbour_counts(self.cases[i].released, shown[i], size)
        return _placed(rows, self.ids[i], self.n_ids)


def tie_keys(number: NDArray[np.int64], graph: AttributedGraph) -> NDArray[np.int64]:
    """Return a key for each tie between two numbers, neither one negative."""
    return edge_keys(renumbered(number, graph.edges))


def _numbered(graph: AttributedGraph, number: dict[tuple[str, ...], int]) -> NDArray[np.int64]:
    """Return the tuple number of every vertex.

    New tuples get the next ones.
    """
    classes = graph.qi_classes
    one_of = np.zeros(int(classes.max(initial=-1)) + 1, dtype=np.int64)
    one_of[classes] = np.arange(len(classes))
    texts = [
        tuple(graph.categories[j][code] for j, code in enumerate(row))
        for row in graph.codes[one_of, :-1].tolist()
    ]
    numbers = [number.setdefault(text, len(number)) for text in texts]
    return np.array(numbers, dtype=np.int64)[classes]


def _placed(rows: sparse.csr_matrix, at: NDArray[np.int64], n: int) -> sparse.csr_matrix:
    """Return the rows at the given positions of n, the others empty."""
    whole = rows.tocoo()
    return sparse.csr_matrix((whole.data, (at[whole.row], whole.col)), shape=(n, rows.shape[1]))


# Releases together, or one by itself: friends that are known, and candidates.
#
# What is known of friends, and shown of them, stands side by side, release by release, so the
# nearest candidate is the one with the least sum of distances.

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Together:
    """At least one release, and the attacked people of the last one.

    Candidates of a person are the ids that are in the same releases as the person's own, with the
    same published quasi-identifiers.

    Attributes
    ----------
    history:
        The releases and the truth.
    places:
        The targets' places among the vertices of the last release, shape (targets,).
    classes:
        A number for each id; ids of one number are each other's candidates, shape (n_ids,).
    """

    history: History
    places: Numbers
    classes: Numbers

    @classmethod
    def of(cls, history: History) -> Together:
        """Return the releases with the targets of the last case."""
        tuples = [history.tuples_of_ids(i) for i in range(len(history.cases))]
        return cls(history, history.cases[-1].places, classes_of(tuples))

    def among(self, is_target: NDArray[np.bool_]) -> Together:
        """Return the same with these targets only."""
        return dataclasses.replace(self, places=self.places[is_target])

    @cached_property
    def own(self) -> Numbers:
        """The number of each target's id, shape (targets,)."""
        return self.history.ids[-1][self.places]

    @cached_property
    def vertices(self) -> Numbers:
        """The targets' vertices of the last true graph, shape (targets,)."""
        return self.history.cases[-1].original_of[self.places]

    @cached_property
    def people(self) -> Numbers:
        """The number of each target, shape (targets,)."""
        return self.history.persons[-1][self.vertices]

    @cached_property
    def candidates(self) -> Numbers:
        """How many candidates each target has, shape (targets,)."""
        sizes: Numbers = np.bincount(self.classes)[self.classes[self.own]]
        return sizes

    @property
    def by_chance(self) -> float:
        """Expected share of targets found by a uniform guess among their candidates."""
        return float((1 / self.candidates).mean()) if len(self.own) else 0.0

    def known(
        self, kinds: VertexKinds | None = None, worth: Sequence[Numbers | None] | None = None
    ) -> sparse.csr_matrix:
        """Return the counts of each target's true friends; see `History.known`."""
        history = self.history
        of_each = worth or [None] * len(history.cases)
        rows = [history.known(i, self.people, kinds, each) for i, each in enumerate(of_each)]
        return sparse.hstack(rows, format="csr")

    def seen(self, kinds: VertexKinds | None = None) -> sparse.csr_matrix:
        """Return the counts of each id's released neighbours; see `History.seen`."""
        n = len(self.history.cases)
        return sparse.hstack([self.history.seen(i, kinds) for i in range(n)], format="csr")

    def guessed(
        self, attack: str, params: PrivacyParams, standing: Standing, *, is_promised: bool = False
    ) -> Result:
        """Return the share of targets found by naming the nearest candidate.

        See `standing_result`; the control is a uniform guess among the candidates.
        """
        chances = standing.chances
        degrees = self.history.cases[-1].original.degrees[self.vertices]
        bands = banded(degrees, self.candidates, chances)
        return standing_result(
            attack,
            params,
            standing,
            control=self.by_chance,
            bands=bands,
            is_promised=is_promised,
        )
