"""Requests for one release, and the graph made ready for them.

An option is a field of `AnonymizeOptions` with a default, and an option of `ktsafe anonymize`; none
may weaken the guarantee. How rare people are treated is held by
tests/ktsafe/anonymization/test_rare_classes.py.

A class of quasi-identifiers is rare if it has fewer than k people, or if more than a share alpha of
them is sensitive, so it can be no cohort. Less is then published about these people, before the
search: they are withheld, or their quasi-identifiers or sensitive values become missing.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import Infeasible, InvalidParams
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.params import PrivacyParams

MIN_F1: Final = 0.1
"""F1 of ties below which nobody should publish: the graph says next to nothing of its people."""

Effort = Literal["fast", "balanced"]
Aim = Literal["balanced", "f1", "cost"]
Generalize = Literal["none", "auto"]
RareQi = Literal["withhold", "suppress"]
Values = Literal["exchanged", "in place"]
"""Of sensitive values: whether members of a cohort exchange them, or each shows its own."""


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a better release is worth.
    aim:
        What is sought among safe releases. "balanced": between the people of any two values of an
        attribute there are about as many edges as ties. "f1": the greatest F1 of ties. "cost": the
        fewest ties hidden and edges inserted. None costs more than to show no tie.
    rare_qi:
        What is done to the members of quasi-identifier classes of fewer than k: they are not
        published, or as many of their quasi-identifiers become missing as they need to share a
        class with k.
    values:
        Of the sensitive attribute: "exchanged": the members of each cohort exchange values, so a
        vertex shows that of a member drawn at random. "in place": each shows its own, and whoever
        knows the values of people's friends finds many people by them.
    """

    effort: Effort = "balanced"
    rare_qi: RareQi = "withhold"
    aim: Aim = "balanced"
    values: Values = "exchanged"

    def __post_init__(self) -> None:
        options = {"effort": Effort, "rare_qi": RareQi, "aim": Aim, "values": Values}
        for name, known in options.items():
            value, may_be = getattr(self, name), get_args(known)
            if value not in may_be:
                msg = f"{name} cannot be {value!r}."
                raise InvalidParams(msg, hint=f"Write {' or '.join(map(repr, may_be))}.")


DEFAULTS = AnonymizeOptions()

Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What one release is asked for with.

    Attributes
    ----------
    graph:
        The true graph; for the search, as it is once rare people have been treated.
    params:
        The guarantee.
    rng:
        The only randomness.
    options:
        How to search.
    executor:
        Runs parts of the work side by side, if given; the release is the same without.
    report:
        Takes the name of a phase and the fraction that is done.
    """

    graph: AttributedGraph
    params: PrivacyParams
    rng: np.random.Generator
    options: AnonymizeOptions = DEFAULTS
    executor: Executor | None = None
    report: Progress = lambda _phase, _fraction: None


SUBSETS_MAX = 1024
"""Combinations of attributes to be tried; of more attributes only the finest are suppressed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """What a strategy gets to see.

    Attributes
    ----------
    graph:
        The true graph without withheld vertices and with suppressed values.
    origin:
        int32, shape (vertices of `graph`,): the original vertex behind each, ascending.
    """

    graph: AttributedGraph
    origin: NDArray[np.int32]


def prepare(
    graph: AttributedGraph,
    params: PrivacyParams,
    options: AnonymizeOptions,
    rng: np.random.Generator,
) -> Prepared:
    """Treat rare classes as `options.rare_qi` says, then those that are too sensitive.

    Whom no suppression gives company is withheld.

    Raises
    ------
    Infeasible
        If sensitive values must be suppressed although the missing value counts as sensitive.
    """
    if options.rare_qi == "suppress":
        graph = with_rare_suppressed(graph, params.k, rng)
    origin = np.flatnonzero(class_sizes(graph) >= params.k).astype(np.int32)
    graph = with_sensitive_suppressed(graph.subgraph(origin), params, rng)
    return Prepared(graph, origin)


def class_sizes(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return how many vertices share the quasi-identifiers of each one, itself included."""
    sizes: NDArray[np.int64] = np.bincount(graph.qi_classes)[graph.qi_classes]
    return sizes


def with_rare_suppressed(
    graph: AttributedGraph, k: int, rng: np.random.Generator
) -> AttributedGraph:
    """Return the graph with quasi-identifiers missing until classes have k.

    One attribute is suppressed where that is enough to share a class with k others, two where one
    is not, and so on; those with most values go first. If fewer than k vertices end up without
    any, random ones of classes that can spare them join them. Only a graph of fewer than k
    vertices, or one whose classes can spare nobody, keeps a class that is too small.
    """
    q = graph.codes.shape[1] - 1
    categories, missing = _with_missing(graph, range(q))
    codes = graph.codes[:, :q].copy()
    open_ = np.flatnonzero(class_sizes(graph) < k)
    settled = Counter(map(tuple, np.delete(codes, open_, axis=0).tolist()))
    for attributes in _subsets(graph, open_):
        if not len(open_):
            break
        masked = codes[open_]
        masked[:, attributes] = missing[list(attributes)]
        rows, group = np.unique(masked, axis=0, return_inverse=True)
        group = group.reshape(-1)
        count = np.bincount(group, minlength=len(rows))
        total = count + np.array([settled[tuple(row)] for row in rows.tolist()])
        settles = total >= k
        for row, more in zip(rows[settles].tolist(), count[settles].tolist(), strict=True):
            settled[tuple(row)] += more
        codes[open_[settles[group]]] = masked[settles[group]]
        open_ = open_[~settles[group]]
    if len(open_):
        nothing = tuple(missing.tolist())
        codes[open_] = nothing
        joining = _spared(codes, settled, k, k - len(open_) - settled[nothing], rng)
        codes[joining] = nothing
    return AttributedGraph.from_codes(
        graph.schema, categories, np.column_stack((codes, graph.codes[:, q:])), graph.edges
    )


def with_sensitive_suppressed(
    graph: AttributedGraph, params: PrivacyParams, rng: np.random.Generator
) -> AttributedGraph:
    """Return the graph with surplus sensitive values of classes missing.

    The surplus of sensitive members, drawn at random, shows the missing value. No more do, since a
    class within alpha can be divided into cohorts within alpha. Random harmless members join them:
    of the members that show it *instead of their value*, at most a share alpha hides a sensitive
    value. Where a class has too few harmless members for that, all of them join.
    """
    alpha = params.alpha
    classes, is_sensitive = graph.qi_classes, graph.is_sensitive
    size = np.bincount(classes)
    bearable = size * alpha.numerator // alpha.denominator
    excess = np.bincount(classes, is_sensitive).astype(np.int64) - bearable
    if not (excess > 0).any():
        return graph
    if MISSING in graph.schema.sensitive_values:
        msg = "Sensitive values cannot be suppressed: the missing value counts as sensitive too."
        raise Infeasible(msg, hint=f"Do not declare {MISSING!r} sensitive.")
    d = graph.codes.shape[1]
    categories, missing = _with_missing(graph, [d - 1])
    codes = graph.codes.copy()
    # Whose value is missing anyway is no company: it hides nothing.
    is_company = ~is_sensitive & (codes[:, -1] != missing[d - 1])
    company = -(-excess * alpha.denominator // alpha.numerator) - excess
    for c in np.flatnonzero(excess > 0):
        members = rng.permutation(np.flatnonzero(classes == c))
        hidden = members[is_sensitive[members]][: excess[c]]
        joining = members[is_company[members]][: company[c]]
        codes[hidden, d - 1] = codes[joining, d - 1] = missing[d - 1]
    return AttributedGraph.from_codes(graph.schema, categories, codes, graph.edges)


def _with_missing(
    graph: AttributedGraph, attributes: range | list[int]
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int32]]:
    """Return categories with room for missing values, and their code."""
    categories = list(graph.categories)
    missing = np.full(len(categories), -1, dtype=np.int32)
    for j in attributes:
        if MISSING not in categories[j]:
            categories[j] = (*categories[j], MISSING)
        missing[j] = categories[j].index(MISSING)
    return tuple(categories), missing[: max(attributes, default=-1) + 1]


def _subsets(graph: AttributedGraph, rare: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    """Yield sets of attributes to be suppressed.

    Small ones first, among them the finest.
    """
    q = graph.codes.shape[1] - 1
    values = [len(np.unique(graph.codes[rare, j])) for j in range(q)]
    finest = sorted(range(q), key=lambda j: (-values[j], j))
    for size in range(1, q + 1):
        if 2**q <= SUBSETS_MAX:
            yield from itertools.combinations(finest, size)
        else:
            yield tuple(finest[:size])


def _spared(
    codes: NDArray[np.int32],
    settled: Counter[tuple[int, ...]],
    k: int,
    wanted: int,
    rng: np.random.Generator,
) -> list[int]:
    """Return up to `wanted` random vertices that their classes can spare."""
    found: list[int] = []
    for v in rng.permutation(len(codes)).tolist():
        if len(found) >= wanted:
            break
        row = tuple(codes[v].tolist())
        if settled[row] > k:
            settled[row] -= 1
            found.append(v)
    return found
