"""A sequence that stays kt-safe if all are linked (w = all).

Queries may be added. A release is all or nothing: a copy of the state is changed, and kept if no
step raises (tests/ktsafe/sequence/test_sequence.py). `_fixed` is part of the saved pages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterator, Mapping
from concurrent.futures import Executor
from itertools import starmap
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, Schema
from ktsafe.params import PrivacyParams
from ktsafe.sequence import cost_figures, gate
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.graph_changes import Changes
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State, state_from_pages, state_pages
from ktsafe.sequence.memory.turns import share_of_turn
from ktsafe.sequence.step import Step, make_release
from ktsafe.sequence.step_context import SequenceSpec, StepContext

Pair = tuple[tuple[str, ...], tuple[str, ...]]


class PlannedPair(NamedTuple):
    """Two classes of people, and the release that planned their edges.

    Attributes
    ----------
    classes:
        The quasi-identifiers of both, in the schema's order, the lesser first; twice the same
        where it is one class.
    release:
        Its index.
    """

    classes: Pair
    release: int


@dataclasses.dataclass(frozen=True, eq=False)
class Released:
    """A release and, privately, the people behind its vertices.

    Attributes
    ----------
    graph:
        The released graph; vertices in ascending order of published id.
    ids:
        int64, shape (n,): published ids, random, kept for ever and never given again.
    keys:
        int64, shape (n,): the person behind each, -1 for inserted and counterfeit vertices.
    planned:
        For each pair of classes that shows edges the release in which they were planned afresh,
        no further back than `SequenceOptions.max_age`; edges that came later were added to them.
        In ascending order. A reader of all releases sees as much.
    dark:
        Likewise for each pair that shows none now: the release in which what it showed last was
        planned, if that is not further back. What it showed last still stands for it.
    value_at:
        int64, shape (n,): the vertex that shows the sensitive value of each, or of who left it;
        private. None: each shows its own.
    """

    graph: AttributedGraph
    ids: NDArray[np.int64]
    keys: NDArray[np.int64]
    planned: tuple[PlannedPair, ...] = ()
    dark: tuple[PlannedPair, ...] = ()
    value_at: NDArray[np.int64] | None = None


class SequenceEngine:
    """The current release, and all that the next one depends on.

    Use `begin` or `from_pages` to make one.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> from ktsafe import PrivacyParams
    >>> from ktsafe.sequence import Changes, SequenceOptions
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(100, 300, rng=rng, n_tuples=2)
    >>> people, params = Changes.of_graph(graph, np.arange(100)), PrivacyParams(k=5)
    >>> sequence = SequenceEngine.begin(graph.schema, params, SequenceOptions(), people, rng)
    >>> step = sequence.advance(Changes(ties_removed=np.array([graph.edges[0]])), rng)
    >>> step.release, len(step.born), sequence.released().graph.n_vertices
    (1, 0, 100)
    """

    def __init__(
        self, state: State, schema: Schema, params: PrivacyParams, options: SequenceOptions
    ) -> None:
        self.state = state
        self._schema = schema
        self.params = params
        self.options = options
        self.spec = SequenceSpec.of(schema, params, options)

    @classmethod
    def begin(
        cls,
        schema: Schema,
        params: PrivacyParams,
        options: SequenceOptions,
        changes: Changes,
        rng: np.random.Generator,
        executor: Executor | None = None,
    ) -> Self:
        """Make release 0 of a graph given as changes from nothing.

        An executor works on parts side by side; the release is the same without.

        Raises
        ------
        InvalidGraph
            If the changes do not describe a graph of this schema.
        Infeasible
            If a value must be suppressed and every value is sensitive.
        """
        options = options.begun(params.group_size_min)
        sequence = cls(State(len(schema.attributes)), schema, params, options)
        sequence.advance(changes, rng, executor)
        return sequence

    def advance(
        self, changes: Changes, rng: np.random.Generator, executor: Executor | None = None
    ) -> Step:
        """Make the next release; if that raises, everything is as it was.

        An executor works on parts side by side; the release is the same without.

        Raises
        ------
        InvalidGraph
            If the changes do not fit the true graph as of the last release.
        NotKTSafe
            If the release does not satisfy the certificate: it must not be published.
        """
        # The next release is made of a copy, so the former state is kept until there is one.
        after = self.state.following()
        step = make_release(StepContext(after, self.spec, rng, executor), changes)
        self.state = after
        return step

    @property
    def release(self) -> int:
        """Index of the current release, 0 for the first."""
        return self.state.current.number

    def released(self) -> Released:
        """Return the current release; a whole scan."""
        state = self.state
        order = self._order()
        position = np.full(state.places.n, -1, dtype=np.int64)
        position[order] = np.arange(len(order))
        codes = state.codes.table(state.places.cls[order], state.places.sensitive[order])
        edges = position[state.edges.pairs(state.edges.used())]
        owner = state.places.owner[order]
        keys = np.where(owner == NOBODY, -1, state.people.key[owner])
        graph = AttributedGraph.from_codes(self._schema, state.codes.categories, codes, edges)
        planned, dark = self._plans()
        ids = state.places.published[order]
        is_exchanged = self.options.values == "exchanged"
        value_at = position[state.places.value_at[order]] if is_exchanged else None
        return Released(graph, ids, keys, planned, dark, value_at=value_at)

    def _plans(self) -> tuple[tuple[PlannedPair, ...], tuple[PlannedPair, ...]]:
        """Return each pair's planning release, and hidden pairs' last edges.

        A class in parts counts as one: it is as old as the oldest that it shows.
        """
        state = self.state
        values = state.codes.class_values()
        oldest: tuple[dict[Pair, int], dict[Pair, int]] = {}, {}
        for classes, release in state.current.planned.items():
            first, second = sorted(values[cls] for cls in classes)
            known = oldest[classes not in state.between(state.edges)]
            known[first, second] = min(known.get((first, second), release), release)
        shown, hidden = oldest
        dark = {pair: release for pair, release in hidden.items() if pair not in shown}
        planned, last = (starmap(PlannedPair, sorted(each.items())) for each in (shown, dark))
        return tuple(planned), tuple(last)

    def is_bounded(self) -> bool:
        """Whether nothing that is shown gets older than `SequenceOptions.max_age`.

        What was planned while that was more may, once it was lowered.
        """
        current, max_age = self.state.current, self.options.max_age
        ages = {current.number - current.planned[c] for c in self.state.between(self.state.edges)}
        least = share_of_turn(0.0, max_age)
        return all(current.turns.is_last(age, (max_age - age) * least) for age in ages)

    def truth(self) -> tuple[AttributedGraph, NDArray[np.int64]]:
        """Return the true graph of the last changes, and ascending keys.

        It is a whole scan.
        """
        return self.state.truth(self._schema)

    def values_of(self, keys: NDArray[np.int64]) -> list[tuple[str, ...]]:
        """Return what people had as of the last changes.

        Quasi-identifiers, then the sensitive one.

        Parameters
        ----------
        keys:
            int64, shape (n,): of people who were there.
        """
        people, codes = self.state.people, self.state.codes
        rows = people.rows_of(keys)
        classes, sensitive = codes.class_values(), codes.sensitive
        pairs = zip(people.cls[rows].tolist(), people.sensitive[rows].tolist(), strict=True)
        return [(*classes[cls], sensitive[code]) for cls, code in pairs]

    def sensitive_texts(self) -> set[str]:
        """Return the sensitive values that people had as of the last changes."""
        people = self.state.people
        held = np.unique(people.sensitive[people.used()])
        return {self.state.codes.sensitive[code] for code in held} & self._schema.sensitive_values

    def cohorts(self) -> NDArray[np.int64]:
        """Return the cohort of every released vertex, in the order of `released`."""
        return self.state.places.cohort[self._order()]

    def figures(self) -> cost_figures.Figures:
        """Return private figures of the current release; a whole scan."""
        return cost_figures.figures_of(self.state, self.params.k, self.spec.margin)

    def tree_counts(self) -> dict[str, int]:
        """Return the number of kt-tree leaves the last release asked about.

        Those whose pivots were kept from the former release, and computed.
        """
        tree = self.state.tree
        return {"pivots_kept": tree.n_kept, "pivots_computed": tree.n_computed}

    def check(self) -> None:
        """Check the certificate of all cohorts; a whole scan.

        Raises
        ------
        NotKTSafe
            If it does not hold.
        """
        gate.check(self.state, self.spec, self.state.places.members)

    def pages(self, but: Container[str] = ()) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of every page, but for some: the state."""
        return state_pages(self.state, self._fixed(), but)

    def kept_pages(self) -> frozenset[str]:
        """Return the names of pages as the release before left them."""
        return frozenset(name for table in self.state.tables for name in table.kept_pages())

    def forget_with(self, key: bytes) -> None:
        """Keep from now on only hashes, with this key, of unused texts.

        The releases are the same, whenever a text is forgotten; but no inserted vertex gets a value
        that nobody has. Without a key all texts stay.
        """
        self.state.codes.key = key

    def forget_texts(self, alive: NDArray[np.int64]) -> None:
        """Keep only hashes of attribute texts without a holder and a place.

        Parameters
        ----------
        alive:
            Keys of the people who have not left since the current release.
        """
        self.state.forget_texts(self.spec.configured, alive)

    @classmethod
    def from_pages(cls, saved: Mapping[str, bytes], max_age: int | None = None) -> Self:
        """Return the sequence that was saved.

        It continues as the saved one would have.

        Parameters
        ----------
        saved:
            What `pages` yielded.
        max_age:
            The greatest age from now on (`SequenceOptions.max_age`); None: as before.

        Raises
        ------
        SequenceCorrupted
            If pages are missing or do not fit each other.
        """
        state, fixed = state_from_pages(saved)
        schema = Schema(
            tuple(fixed["schema"]["quasi_identifiers"]),
            fixed["schema"]["sensitive"],
            frozenset(fixed["schema"]["sensitive_values"]),
            fixed["schema"]["buckets"],
            groups=fixed["schema"]["groups"],
        )
        params = PrivacyParams.from_mapping(fixed["params"])
        options = SequenceOptions.from_mapping(fixed["options"])
        if max_age is not None:
            options = dataclasses.replace(options, max_age=max_age)
        return cls(state, schema, params, options)

    def _order(self) -> NDArray[np.int64]:
        """Return the places in ascending order of published id."""
        used = self.state.places.used()
        return used[np.argsort(self.state.places.published[used])]

    def _fixed(self) -> dict[str, Any]:
        schema = self._schema
        return {
            "schema": {
                "quasi_identifiers": schema.quasi_identifiers,
                "sensitive": schema.sensitive,
                "sensitive_values": sorted(schema.sensitive_values),
                "buckets": schema.buckets,
                "groups": schema.groups,
            },
            "params": self.params.to_mapping(),
            "options": self.options.to_mapping(),
        }
