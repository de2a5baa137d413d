"""The sensitive attribute of inserted vertices: who has a value keeps it, new ones draw one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.attributes import _inserted_values_core as core
from ktsafe.attributes.inserted_values import drawn_values, harmless_codes, wanted_sensitive
from ktsafe.graph import AttributedGraph
from ktsafe.incremental._adjacency_core import compressed
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.index._table_core import NONE


def released_graph(
    graph: AttributedGraph,
    indexed: IndexedGraph,
    kept: NDArray[np.int32],
    rng: np.random.Generator,
) -> AttributedGraph:
    """Return the release of a safe working graph; the index counts what it shows.

    Values are as in `ktsafe.attributes.inserted_values`, but that those of former releases stay: a
    value that changed all the time would tell that nobody has it.

    Parameters
    ----------
    graph:
        The true graph.
    kept:
        int32, shape (inserted vertices,): the code of those that keep theirs, NONE for the others.
    """
    working, n = indexed.working, graph.n_vertices
    if working.n == n:
        return _assembled(graph, indexed, graph.categories, graph.codes)
    categories, harmless = harmless_codes(graph)
    new = np.flatnonzero(kept == NONE)
    shown = kept.copy()
    shown[new] = drawn_values(graph, n, harmless, len(new), rng)
    tuples = working.space.tuples[working.arrays.cls[n : working.n]]
    codes = np.concatenate((graph.codes, np.column_stack((tuples, shown)))).astype(np.int32)
    released = _assembled(graph, indexed, categories, codes)
    order = rng.permutation((n + new).astype(np.int32))
    wanted = wanted_sensitive(released, n, order, rng)
    turned = np.zeros(working.n, dtype=np.bool_)
    core.turn(indexed.table.arrays, indexed.rule, order, wanted, turned)
    working.arrays.is_sensitive[: working.n] |= turned
    sensitive = [text in graph.schema.sensitive_values for text in categories[-1]]
    chosen = np.flatnonzero(turned)
    codes = released.codes.copy()
    codes[chosen, -1] = drawn_values(graph, n, np.flatnonzero(sensitive), len(chosen), rng)
    return AttributedGraph(
        released.schema, released.categories, codes, released.indptr, released.indices
    )


def _assembled(
    graph: AttributedGraph,
    indexed: IndexedGraph,
    categories: tuple[tuple[str, ...], ...],
    codes: NDArray[np.int32],
) -> AttributedGraph:
    working = indexed.working
    indptr, indices, is_simple = compressed(working.n, graph.edges, working.inserted_edges)
    assert is_simple
    return AttributedGraph(graph.schema, categories, codes, indptr, indices)


def kept_codes(
    indexed: IndexedGraph, carried: NDArray[np.int32], is_sensitive_code: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return the codes that inserted vertices keep: not those that had to become harmless.

    Parameters
    ----------
    carried:
        int32: the codes of the first inserted vertices; the others are new.
    is_sensitive_code:
        bool: which codes of the sensitive attribute are sensitive.
    """
    working = indexed.working
    codes = np.full(working.n - working.n_original, NONE, dtype=np.int32)
    codes[: len(carried)] = carried
    flags = working.arrays.is_sensitive[working.n_original : working.n]
    codes[is_sensitive_code[codes] & (codes != NONE) & ~flags] = NONE
    return codes
