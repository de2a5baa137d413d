"""Releases that are safe one by one, each made from the one before: cost follows the change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import numpy as np

from ktsafe.anonymize import anonymize
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.incremental import pages
from ktsafe.incremental.carrying import Carried, Numbers, Release, carry, without
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.incremental.repair import collect, repair
from ktsafe.incremental.values import kept_codes, released_graph
from ktsafe.index import upkeep as location_index
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.index.upkeep import Upkeep
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.options import AnonymizeOptions
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Progress

# A greater share of changed people and ties than this is anonymized afresh.
BATCH_SHARE_MAX = 0.05
# So is a graph whose cost, by true elements, has grown by more than this since that was last done.
DRIFT_MAX = 1.3


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """How the last release was made. Private.

    Attributes
    ----------
    is_fresh:
        Whether it was anonymized afresh.
    changes:
        People and ties that were not as in the release before; 0 for the first.
    cost:
        Inserted vertices and edges.
    upkeep:
        What was kept of the location index, and what computed.
    """

    is_fresh: bool
    changes: int
    cost: int
    upkeep: Upkeep


@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """A release, its index if there is one, and what keeping that in step took."""

    release: Release
    table: LocationTable | None
    upkeep: Upkeep


class IncrementalReleases:
    """The last release, and what the next one is made from.

    Each release is kt-safe by itself and says nothing about several of them together: that is
    what `ktsafe.sequence` is for.

    Parameters
    ----------
    params:
        The guarantee.
    options:
        How to search; see `supports`.
    """

    def __init__(self, params: PrivacyParams, options: AnonymizeOptions) -> None:
        self.params = params
        self.options = options
        self._last: Release | None = None
        self._table: LocationTable | None = None
        self._baseline = (0, 1)

    @staticmethod
    def supports(params: PrivacyParams, options: AnonymizeOptions) -> bool:
        """Whether releases under these options can be made from the ones before.

        What changes people's attributes or leaves them out is drawn afresh for each release, and
        so are deletions.
        """
        asked = (options.strategy, options.edits, options.knowledge)
        treated = (options.rare_qi, options.over_alpha)
        usual = asked == ("cohort", "insert", "released") and treated == ("pad", "pad")
        return usual and params.sees_stars

    def release(
        self,
        graph: AttributedGraph,
        keys: Numbers,
        rng: np.random.Generator,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Step:
        """Make the next release. If that raises, the last one is still there.

        Parameters
        ----------
        graph:
            The true graph.
        keys:
            int64, shape (n,), distinct: a number of at least 0 for each person and life.
        """
        graph, keys = _in_order(graph, keys)
        last = self._last
        carried = None if last is None else carry(last, graph, keys)
        changes = 0 if carried is None else carried.changes
        made = None
        if last is not None and carried is not None and changes <= BATCH_SHARE_MAX * _size(graph):
            made = self._repaired(last, carried, graph, keys, rng, executor)
        repaired = made
        if made is None or self._has_drifted(made.release.cost, graph):
            fresh = self._afresh(graph, keys, rng, executor, progress)
            if made is None or fresh.release.cost < made.release.cost:
                made = fresh
            self._baseline = made.release.cost, _size(graph)
        self._last, self._table = made.release, made.table
        return Step(made is not repaired, changes, made.release.cost, made.upkeep)

    @property
    def last(self) -> Release | None:
        """The last release, None before the first."""
        return self._last

    def to_pages(self) -> dict[str, bytes]:
        """Return everything that the next release depends on, as named pages."""
        if self._last is None:
            return {}
        return pages.to_pages(pages.Memory(self._last, self._table, self._baseline))

    @classmethod
    def from_pages(
        cls,
        saved: Mapping[str, bytes],
        schema: Schema,
        params: PrivacyParams,
        options: AnonymizeOptions,
    ) -> IncrementalReleases:
        """Return the releases that were saved; they go on as those would have.

        Raises
        ------
        ReleaseCorrupted
            If pages are missing or do not fit each other.
        """
        releases = cls(params, options)
        if saved:
            memory = pages.from_pages(saved, schema, params)
            releases._last, releases._table = memory.last, memory.table
            releases._baseline = memory.baseline
        return releases

    def _repaired(
        self,
        last: Release,
        carried: Carried,
        graph: AttributedGraph,
        keys: Numbers,
        rng: np.random.Generator,
        executor: Executor | None,
    ) -> Made | None:
        """Return the last release with what changed made safe; None where that did not end."""
        working = carried.working
        rule = similarity_rule(working.space, self.params)
        indexed = IndexedGraph(working, rule, self._index(last, carried, graph.categories))
        if not repair(indexed, self.params, self.options.effort, rng, executor):
            return None
        values = graph.schema.sensitive_values
        is_sensitive = np.array([text in values for text in graph.categories[-1]], dtype=np.bool_)
        codes = kept_codes(indexed, carried.sensitive_codes, is_sensitive)
        is_dropped = collect(indexed, carried.changes, rng)
        codes = codes[~is_dropped[working.n_original :]]
        if not _is_safe(indexed):
            return None
        released = released_graph(graph, indexed, codes, rng)
        inserted = working.inserted_edges.copy()
        made = Release(released, keys, graph.edges, inserted)
        return Made(made, indexed.table, indexed.upkeep)

    def _index(
        self, last: Release, carried: Carried, categories: Sequence[Sequence[str]]
    ) -> LocationTable | None:
        """Return the index as far as it still holds, by the new numbers; None where it does not."""
        space = carried.working.space
        if not _counts_alike(last.graph, space, categories):
            return None
        if self._table is None:
            table = IndexedGraph(last.working(), similarity_rule(space, self.params)).table
        else:
            table = location_index.copied(self._table)
        changed = np.flatnonzero(carried.is_changed).astype(np.int32)
        location_index.lift(table, changed, last.graph.is_sensitive[changed])
        location_index.renumber(table, carried.origin, carried.working.n_original)
        return table

    def _afresh(
        self,
        graph: AttributedGraph,
        keys: Numbers,
        rng: np.random.Generator,
        executor: Executor | None,
        progress: Progress | None,
    ) -> Made:
        """Return a release that depends on no other; the next one makes its index."""
        made = anonymize(
            graph,
            self.params,
            rng=rng,
            options=self.options,
            executor=executor,
            progress=progress,
        )
        inserted = without(made.graph.edges, graph.edges)
        return Made(Release(made.graph, keys, graph.edges, inserted), None, Upkeep(0, 0))

    def _has_drifted(self, cost: int, graph: AttributedGraph) -> bool:
        """Whether the cost by true elements has grown too much since the last fresh release."""
        cost_then, size_then = self._baseline
        return cost * size_then > DRIFT_MAX * cost_then * _size(graph)


def _is_safe(indexed: IndexedGraph) -> bool:
    """Whether everybody is safe by the index: a second look, since the verifier only refuses."""
    return not len(indexed.table.unsafe_vertices())


def _size(graph: AttributedGraph) -> int:
    return graph.n_vertices + graph.n_edges


def _in_order(graph: AttributedGraph, keys: Numbers) -> tuple[AttributedGraph, Numbers]:
    """Return the same graph with its people in ascending order of their keys."""
    if (np.diff(keys) > 0).all():
        return graph, keys
    order = np.argsort(keys)
    position = np.argsort(order)
    ordered = AttributedGraph.from_codes(
        graph.schema, graph.categories, graph.codes[order], position[graph.edges]
    )
    return ordered, keys[order]


def _counts_alike(
    last: AttributedGraph, space: QuasiIdentifierSpace, categories: Sequence[Sequence[str]]
) -> bool:
    """Whether classes and histogram columns mean the same in two graphs."""
    former = QuasiIdentifierSpace.of_graph(last)
    return last.categories[:-1] == categories[:-1] and np.array_equal(former.tuples, space.tuples)
