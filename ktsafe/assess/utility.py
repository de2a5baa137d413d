"""Compare the structure of a release with that of the true graph.

Nobody outside knows which vertices are inserted, so all figures of a release are of all of it, and
only comparisons vertex by vertex are restricted to those that have an original. The figures are
private like the audit: those of the true graph tell of it. Structure is counted by networkit,
which comes with `ktsafe[assess]`; it is loaded when a graph is first counted.

Figures may be added as optional fields of `Utility`, which audits keep;
tests/ktsafe/assess/test_utility.py compares with networkx and scipy. Draws of pairs and communities
follow from the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import convert
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from ktsafe.assess.attacks import ATTACKS, Case, Result, run
from ktsafe.assess.conclusions import conclusions, summary
from ktsafe.audit import trace
from ktsafe.audit.cost import Traced
from ktsafe.audit.distributions import Both, assortativity, attribute_mix, degree_bands
from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.stream.files.audit_model import (
    AttackResult,
    Attacks,
    Audit,
    Communities,
    PageRank,
    PathsFigures,
    StructureFigures,
    Utility,
)

if TYPE_CHECKING:
    import networkit


PAIRS = 1_000
TARGETS_PER_SOURCE = 10
DAMPING = 0.85
RANK_ROUNDS = 200
"""Rounds of PageRank: what is left after them, .85^200, is below 1e-14."""


def utility_figures(traced: Traced, *, rng: np.random.Generator) -> Utility:
    """Return the utility figures of a release.

    Parameters
    ----------
    traced:
        The release beside the true graph, from `ktsafe.audit.trace`.
    rng:
        Draws the pairs whose distance is measured, and the order of vertices in communities. The
        same graphs and seed give the same figures.

    Returns
    -------
    Utility
        `paths`: 1,000 pairs of originals, drawn as 100 sources with 10 targets each. `pagerank`:
        the true top k are 1% of the originals, at least 10, and the top k of the release are
        originals. `communities`: by Leiden, their agreement on the originals.

    Complexity
    ----------
    O(m^1.5) for the triangles, O(m) per source, sweep and level for the rest.
    """
    original, released = traced.original, traced.released
    both = as_networkit(original), as_networkit(released)
    return Utility(
        original=structure(original, both[0]),
        released=structure(released, both[1]),
        degree_emd=degree_emd(original, released),
        degree_bands=degree_bands(original, released),
        attribute_mix=attribute_mix(original, released),
        paths=_paths(traced, both, rng),
        pagerank=_pagerank_overlap(traced),
        communities=_community_agreement(traced, both, rng),
        conclusions=summary(conclusions(original, released)),
    )


def as_networkit(graph: AttributedGraph) -> networkit.Graph:
    """Return the graph as networkit has it, without attributes.

    Raises
    ------
    InvalidParams
        If networkit is not installed.
    """
    try:
        import networkit  # noqa: PLC0415
    except ModuleNotFoundError as error:
        msg = "Figures of structure need networkit, which is not installed."
        raise InvalidParams(msg, hint='Install it: pip install "ktsafe[assess]".') from error
    # Edges go in sorted, as graphs hold them: communities depend on their order.
    ends = (graph.edges[:, 0].astype(np.int64), graph.edges[:, 1].astype(np.int64))
    return networkit.GraphFromCoo(ends, n=graph.n_vertices)


def structure(graph: AttributedGraph, counted: networkit.Graph | None = None) -> StructureFigures:
    """Return the figures of one graph.

    Parameters
    ----------
    counted:
        The same graph from `as_networkit`; None: it is made.
    """
    n = graph.n_vertices
    counted = as_networkit(graph) if counted is None else counted
    quasi_identifiers = graph.schema.quasi_identifiers
    clustering, transitivity, largest = (
        _counted(counted) if graph.n_edges else (0.0, 0.0, min(n, 1))
    )
    return StructureFigures(
        mean_degree=_rounded(2 * graph.n_edges / n) if n else None,
        max_degree=int(graph.degrees.max(initial=0)),
        isolated=_rounded(float(np.mean(graph.degrees == 0))) if n else None,
        clustering=_rounded(clustering) if n else None,
        transitivity=_rounded(transitivity),
        largest_component=_rounded(largest / n) if n else None,
        assortativity={name: assortativity(graph, j) for j, name in enumerate(quasi_identifiers)},
    )


def degree_emd(original: AttributedGraph, released: AttributedGraph) -> float | None:
    """Return the earth mover's distance of the two degree distributions, in edges.

    That is the area between their cumulative distributions; for equally many vertices, the mean
    change of the sorted degrees. None where a graph is empty.
    """
    if not (original.n_vertices and released.n_vertices):
        return None
    top = int(max(original.degrees.max(), released.degrees.max())) + 1
    shares = [
        np.cumsum(np.bincount(graph.degrees, minlength=top)) / graph.n_vertices
        for graph in (original, released)
    ]
    return _rounded(np.abs(shares[0] - shares[1]).sum())


def pagerank(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return every vertex's PageRank at damping 0.85, (n,), summing to 1.

    A vertex without edges leads anywhere with equal chance.
    """
    n, degrees = graph.n_vertices, graph.degrees
    step = sparse.csr_matrix(
        (np.repeat(1.0 / np.maximum(degrees, 1), degrees), graph.indices, graph.indptr), (n, n)
    ).T
    rank = np.full(n, 1.0 / max(n, 1))
    for _ in range(RANK_ROUNDS):
        anywhere = 1.0 - DAMPING + DAMPING * rank[degrees == 0].sum()
        rank = DAMPING * (step @ rank) + anywhere / max(n, 1)
    return rank


def communities(counted: networkit.Graph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the community of every vertex by Leiden's method, shape (n,), 0..communities-1.

    Source: Traag, Waltman, van Eck, "From Louvain to Leiden" (2019). The communities follow from
    the graph and `rng`: networkit is seeded for each call, and runs in one thread, since with more
    a seed does not repeat.
    """
    import networkit  # noqa: PLC0415

    if counted.numberOfNodes() == 0:
        return np.zeros(0, dtype=np.int64)
    threads = networkit.getMaxNumberOfThreads()
    networkit.setNumberOfThreads(1)
    networkit.setSeed(int(rng.integers(2**63)), False)
    try:
        # The partition can be asked for once: a second time it is empty.
        found = networkit.community.ParallelLeiden(counted).run().getPartition().getVector()
    finally:
        networkit.setNumberOfThreads(threads)
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def modularity(graph: AttributedGraph, community: NDArray[np.int64]) -> float | None:
    """Return the modularity of communities, from -1/2 to 1.

    With e the share of edges inside, and a_c that of edge ends in community c: e - sum a_c^2. None
    where there are no edges.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(20, 30, rng=np.random.default_rng(1))
    >>> modularity(graph, np.zeros(20, dtype=np.int64))
    0.0
    """
    if not graph.n_edges:
        return None
    inside = np.count_nonzero(community[graph.edges[:, 0]] == community[graph.edges[:, 1]])
    ends = np.bincount(community, weights=graph.degrees) / (2 * graph.n_edges)
    return _rounded(inside / graph.n_edges - np.square(ends).sum())


def adjusted_mutual_information(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> float | None:
    """Return two partitions' mutual information beyond chance, at most 1.

    0 is what random partitions into parts of the same sizes have in the mean, so everybody
    alone, or all together, agrees with nothing. Two partitions that are each one part, or each all
    singletons, agree (1); None for nothing to part.

    Source: Vinh, Epps, Bailey, "Information Theoretic Measures for Clusterings Comparison" (2010),
    with the mean of both entropies.

    Examples
    --------
    >>> halves = np.repeat([0, 1], 8)
    >>> adjusted_mutual_information(halves, 1 - halves)
    1.0
    >>> adjusted_mutual_information(halves, np.arange(16))
    0.0
    """
    n = len(first)
    if n == 0:
        return None
    sizes = [np.unique(labels, return_counts=True)[1] for labels in (first, second)]
    if len(sizes[0]) == len(sizes[1]) and len(sizes[0]) in (1, n):
        return 1.0
    both = np.unique(np.column_stack((first, second)), axis=0, return_counts=True)[1]
    h_first, h_second, h_both = (_entropy(count / n) for count in (*sizes, both))
    chance = information_by_chance(sizes[0], sizes[1], n)
    possible = (h_first + h_second) / 2 - chance
    if possible < 1e-12:
        return 0.0
    return _rounded((h_first + h_second - h_both - chance) / possible) + 0.0


def information_by_chance(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> float:
    """Return the mean mutual information of random partitions of these sizes."""
    total = 0.0
    for a, n_a in zip(*np.unique(first, return_counts=True), strict=True):
        for b, n_b in zip(*np.unique(second, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n), min(a, b) + 1)
            log_chance = (
                gammaln(a + 1)
                + gammaln(b + 1)
                + gammaln(n - a + 1)
                + gammaln(n - b + 1)
                - gammaln(n + 1)
                - gammaln(shared + 1)
                - gammaln(a - shared + 1)
                - gammaln(b - shared + 1)
                - gammaln(n - a - b + shared + 1)
            )
            worth = shared / n * np.log(n * shared / (a * b))
            total += n_a * n_b * float((worth * np.exp(log_chance)).sum())
    return total


def hops_between(
    counted: networkit.Graph, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the hops from sources to their targets, -1 without path."""
    import networkit  # noqa: PLC0415

    found = np.full(targets.shape, -1, dtype=np.int64)
    for i, (source, own) in enumerate(zip(sources.tolist(), targets, strict=True)):
        search = networkit.distance.BFS(counted, source, storePaths=False).run()
        hops = np.array(search.getDistances(asarray=True))[own]
        # Without a path networkit says the greatest float, which counts as finite.
        found[i] = np.where(hops < counted.numberOfNodes(), hops, -1)
    return found


def _counted(counted: networkit.Graph) -> tuple[float, float, int]:
    """Return mean clustering, transitivity and the vertices of the largest component."""
    import networkit  # noqa: PLC0415

    local = networkit.centrality.LocalClusteringCoefficient(counted).run().scores()
    parts = networkit.components.ConnectedComponents(counted).run().getComponentSizes()
    closed = networkit.globals.ClusteringCoefficient.exactGlobal(counted)
    return float(np.mean(local)), 0.0 if np.isnan(closed) else closed, max(parts.values())


def _paths(
    traced: Traced, both: tuple[networkit.Graph, networkit.Graph], rng: np.random.Generator
) -> PathsFigures:
    """Return how far sampled pairs of originals are in both graphs."""
    real = traced.real
    if len(real) < 2:
        return PathsFigures(0)
    sources = rng.integers(len(real), size=PAIRS // TARGETS_PER_SOURCE)
    # Added modulo n, so no vertex is paired with itself.
    away = rng.integers(1, len(real), size=(len(sources), TARGETS_PER_SOURCE))
    targets = (sources[:, np.newaxis] + away) % len(real)
    hops = [
        hops_between(counted, place[sources], place[targets])
        for counted, place in zip(both, (traced.behind[real], real), strict=True)
    ]
    known = (hops[0] >= 0) & (hops[1] >= 0)
    return PathsFigures(
        targets.size,
        Both(*(int(np.count_nonzero(each >= 0)) for each in hops)),
        Both(*(_rounded(each[known].mean()) for each in hops)) if known.any() else Both(),
    )


def _pagerank_overlap(traced: Traced) -> PageRank:
    """Return how many of the most central originals stay so.

    Equal ranks go by position.
    """
    original, real = traced.original, traced.real
    k = min(max(10, original.n_vertices // 100), len(real))
    if k == 0:
        return PageRank(0, None)
    if original.n_edges and not traced.released.n_edges:
        # All ranks are equal: nobody is told to be central.
        return PageRank(k, 0.0)
    # Rounded, so equal ranks that were summed in another order stay equal.
    ranks = (pagerank(original)[traced.behind[real]], pagerank(traced.released)[real])
    first, second = (np.argsort(-rank.round(12), kind="stable")[:k] for rank in ranks)
    return PageRank(k, _rounded(len(np.intersect1d(first, second)) / k))


def _community_agreement(
    traced: Traced, both: tuple[networkit.Graph, networkit.Graph], rng: np.random.Generator
) -> Communities:
    """Return how far communities of both graphs agree on the originals."""
    original, released, real = traced.original, traced.released, traced.real
    first, again, after = (
        communities(counted, own)
        for counted, own in zip((both[0], *both), rng.spawn(3), strict=True)
    )
    return Communities(
        original=len(np.unique(first)),
        released=len(np.unique(after)),
        ami=adjusted_mutual_information(first[traced.behind[real]], after[real]),
        ami_again=adjusted_mutual_information(first, again),
        modularity=Both(modularity(original, first), modularity(released, after)),
    )


def _entropy(shares: NDArray[np.float64]) -> float:
    return float(-(shares * np.log(shares)).sum())


def _rounded(value: Any) -> float:
    return round(float(value), 6)


# Measures what a private audit does not tell yet.
#
# What a release is good for, and attacks on it.
#
# Each figure is made once: what the audit has is left as it is.

REPORTED: Final = tuple(name for name in ATTACKS if name not in {"seeds", "alignment"})
"""Attacks that a report runs where they are missing. The risk curve does what the others do."""


def measured(
    audit: Audit,
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]],
    params: PrivacyParams,
    *,
    attacks: Iterable[str] = REPORTED,
    seed: int = 0,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> Audit:
    """Return the audit with missing `utility` and `attacks` made.

    Parameters
    ----------
    audit:
        The private audit.
    original, released:
        The true graph and the released one, of one schema.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 without one.
    attacks:
        Those that are run where the audit has no result of them.
    seed:
        The same graphs and seed give the same figures.
    """
    rng = np.random.default_rng(seed)
    if audit.utility is None:
        progress("measuring what the release is good for", 0.0)
        found = utility_figures(trace(original, released, original_of), rng=rng)
        audit = replace(audit, utility=found)
    told = audit.attacks
    ended = {each.name for each in told.results}
    if missing := [name for name in attacks if name not in ended]:
        results = run(
            Case(original, released, np.asarray(original_of)),
            params,
            np.random.default_rng(seed),
            attacks=missing,
            progress=lambda name, done: progress(f"attacking: {name}", done),
        )
        unfinished = [name for name in told.unfinished if name not in missing]
        attacked = Attacks([*told.results, *results_told(results)], unfinished)
        audit = replace(audit, attacks=attacked)
    return audit


def results_told(results: Iterable[Result]) -> list[AttackResult]:
    """Return results of attacks as audits have them."""
    return convert([each.to_mapping() for each in results], list[AttackResult])
