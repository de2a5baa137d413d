"""The paper's strategies for any n, in plain Python: `none` and `partition`, for small graphs.

`ktsafe_lab.paper` counts stars. Here neighbourhoods, distributions for L = 1..n and edit distances
are those of Definition 3 (reading "walk"), and every edit is tried, counted and taken back if it
makes somebody unsafe who was made safe before (Algorithm 2, line 19). Readings are those of
`ktsafe_lab.paper.vertex_generation`, and for n > 1:

- The c-th duplicate of v comes with all of HN(v, n), made of the c-th duplicates of its vertices;
  where that affects anybody, the next duplicates are taken.
- Rehearsed neighbours are leaves within n - 1 hops of the candidate, at the first vertex there.
- Parts are chosen by the cost model of stars, and expanded by n hops.
- With n = 1 it costs 4% more than the kernels on Cora's first 100 vertices (4,459 for 4,293).
- `pruning` changes no release, so it is not run. For n > 1 Lemma 5.1 asks for distances to pivots
  that no epsilon bounds, and these are the NP-hard part.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe_lab.paper.cost_model import sampled_cost_model
from ktsafe_lab.paper.merging import merge_subgraphs
from ktsafe_lab.paper.partition_set import select_partitioning
from ktsafe_lab.paper.subgraph import AnonymizedSubgraph, ExpandedSubgraph
from ktsafe_lab.paper.vertex_generation import Setting
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from ktsafe_lab.strategies import LabRelease, Plan, everybody
from lab.evaluation.paper_edit_distance import Rooted, are_within, in_breadth

PASSES_MAX: Final = 8
LEAVES_MAX: Final = 8
Edge = tuple[int, int]


@dataclasses.dataclass(frozen=True, eq=False)
class Hopped(AnonymizedSubgraph):
    """An anonymized subgraph of which vertices within n - 1 hops of an insertion are changed."""

    hops: int = 1

    @cached_property
    def is_changed(self) -> NDArray[np.bool_]:
        """Whether HN(v, n) differs from that in g, for each vertex of g."""
        n = len(self.origin)
        changed = np.zeros(n + len(self.inserted), dtype=np.bool_)
        changed[self.inserted_edges.reshape(-1)] = True
        every = np.concatenate((self.edges, self.inserted_edges)).reshape(-1, 2)
        for _ in range(self.hops - 1):
            near = changed[every].any(axis=1)
            changed[every[near].reshape(-1)] = True
        return changed[:n]


def release_by_hops(
    graph: AttributedGraph, params: PrivacyParams, rng: np.random.Generator, *, gamma: int, s: int
) -> LabRelease:
    """Return what the paper's strategy makes for `params.n_hops`; `gamma` 0: without partition."""

    def by_hops(request: Request) -> Plan:
        parts = [ExpandedSubgraph.whole(graph)]
        if 0 < gamma < graph.n_vertices:
            parts = parts_by_hops(graph, params, request.rng, gamma=gamma, s=s)
        merged = merge_subgraphs(graph, [anonymized(graph, params, p) for p in parts])
        return Plan(merged.inserted, merged.edges, copied_from=merged.copied_from)

    return everybody(Request(graph, params, rng), by_hops)


def parts_by_hops(
    graph: AttributedGraph, params: PrivacyParams, rng: np.random.Generator, *, gamma: int, s: int
) -> list[ExpandedSubgraph]:
    """Return the parts with the edges that somebody of theirs sees."""
    stars = dataclasses.replace(params, n_hops=1)
    model = sampled_cost_model(graph, stars, Setting.of_graph(graph, stars), rng, s=s)
    found = []
    for part in select_partitioning(graph, model, rng, gamma=gamma, s=s):
        owned = part.origin[: part.n_owned]
        near = np.zeros(graph.n_vertices, dtype=np.bool_)
        near[owned] = True
        for _ in range(params.n_hops - 1):
            near[graph.edges[near[graph.edges].any(axis=1)].reshape(-1)] = True
        seen = graph.edges[near[graph.edges].any(axis=1)]
        origin = np.concatenate((owned, np.setdiff1d(seen, owned))).astype(np.int32)
        position = np.full(graph.n_vertices, -1, dtype=np.int32)
        position[origin] = np.arange(len(origin), dtype=np.int32)
        found.append(ExpandedSubgraph(origin, len(owned), position[seen].reshape(-1, 2)))
    return found


def anonymized(
    graph: AttributedGraph, params: PrivacyParams, part: ExpandedSubgraph
) -> AnonymizedSubgraph:
    """Make the vertices of a subgraph kt-safe, those of small neighbourhoods first (line 4)."""
    growing = GrowingSubgraph(graph, params, part)
    n = len(part.origin)
    for v in np.argsort(growing.size[:n, -1], kind="stable").tolist():
        growing.make_safe(v)
    return Hopped(
        part.origin,
        part.n_owned,
        part.edges,
        np.array(growing.cls[n:], dtype=np.int32),
        np.array(growing.inserted_edges, dtype=np.int32).reshape(-1, 2),
        np.zeros(n, dtype=np.int64),
        params.n_hops,
    )


class GrowingSubgraph:
    """A subgraph that grows, and the protection sets of the vertices that were made safe.

    Attributes
    ----------
    cls, is_sensitive, neighbours:
        Per vertex.
    hist, size, n_edges:
        Per vertex: value counts and vertices within L = 1..n hops, edges of HN(v, n).
    members:
        The maximal protection set of each vertex that was made safe.
    layers:
        Of each layer: the duplicate in it of each vertex that has one.
    """

    def __init__(
        self, graph: AttributedGraph, params: PrivacyParams, part: ExpandedSubgraph
    ) -> None:
        self.params, self.space = params, QuasiIdentifierSpace.of_graph(graph)
        self.cls: list[int] = []
        self.is_sensitive: list[bool] = []
        self.neighbours: list[set[int]] = []
        self.of_class: dict[int, list[int]] = {}
        n = len(part.origin)
        shape = (2 * n + 64, params.n_hops)
        self.hist = np.zeros((*shape, self.space.n_columns), dtype=np.int64)
        self.size, self.n_edges = np.zeros(shape, dtype=np.int64), np.zeros(shape[0], np.int64)
        self.members: dict[int, set[int]] = {}
        self.layers: list[dict[int, int]] = []
        self.inserted_edges: list[Edge] = []
        self._rooted: dict[int, Rooted] = {}
        self._answers: dict[tuple[Rooted, Rooted], bool] = {}
        for v in part.origin.tolist():
            self._append(int(graph.qi_classes[v]), bool(graph.is_sensitive[v]))
        for a, b in part.edges.tolist():
            self.neighbours[a].add(b)
            self.neighbours[b].add(a)
        for v in range(n):
            self._count(v)

    def make_safe(self, v: int) -> None:
        """Make a vertex kt-safe (Algorithm 2)."""
        alike = self._resembling(v, self.of_class[self.cls[v]])
        self.members[v] = alike
        for u in [u for u in self.of_class[self.cls[v]] if u not in alike]:
            if len(self.members[v]) >= self.params.k:
                break
            self._convert(v, u)
        for _ in range(PASSES_MAX):
            if self._is_safe(self.members[v]):
                return
            sensitive = sum(self.is_sensitive[u] for u in self.members[v])
            self._duplicate(v, max(self.params.k, -int(-sensitive // self.params.alpha)))

    def _duplicate(self, v: int, goal: int) -> None:
        """Add duplicates of v until its protection set has `goal` members (lines 24-29)."""
        layer = 0
        while len(self.members[v]) < goal:
            is_fresh = layer == len(self.layers)
            if is_fresh:
                self.layers.append({})
            if self.layers[layer].get(v) not in self.members[v] and not self._copy(v, v, layer):
                assert not is_fresh, "A whole copy is like its original."
            layer += 1

    def _convert(self, v: int, u: int) -> None:
        """Give u, or a duplicate of it, fake neighbours that make it a member of v.PS (17-23)."""
        leaves = self._rehearsed(v, u)
        if leaves is None or not self._is_close(v, u):
            return
        first = len(self.cls)
        edges = [(at, first + i) for i, (at, _) in enumerate(leaves)]
        if not self._insert([cls for _, cls in leaves], edges, v, u):
            layer = next((i for i, found in enumerate(self.layers) if u not in found), None)
            if layer is None:
                layer = len(self.layers)
                self.layers.append({})
            self._copy(v, u, layer, leaves)

    def _rehearsed(self, v: int, u: int) -> list[tuple[int, int]] | None:
        """Return where fake leaves must be added, and their classes; None: that does not help."""
        hist, size = self.hist[u].copy(), self.size[u].copy()
        circles = self._circles(u, self.params.n_hops - 1)
        seen = {self.cls[x] for x in set().union(*self._circles(v, self.params.n_hops))}
        leaves: list[tuple[int, int]] = []
        while not self._are_near(v, hist[np.newaxis], size[np.newaxis])[0]:
            edits = (
                abs(size[-1] - self.size[v, -1]),
                abs(self.n_edges[u] + len(leaves) - self.n_edges[v]),
            )
            if sum(edits) > self.params.epsilon or len(leaves) == LEAVES_MAX:
                return None
            best = None
            for level, circle in enumerate(circles):
                for cls in sorted(seen) if circle else ():
                    trial, sizes = hist.copy(), size.copy()
                    trial[level:, self.space.columns[cls]] += 1
                    sizes[level:] += 1
                    gap = abs(self.hist[v] * sizes[:, None] - trial * self.size[v][:, None])
                    found = int(gap.sum()), level, cls
                    if best is None or found < best[0]:
                        best = found, trial, sizes
            (_, level, cls), hist, size = best
            leaves.append((min(circles[level]), cls))
        return leaves

    def _copy(
        self, v: int, u: int, layer: int, leaves: list[tuple[int, int]] | None = None
    ) -> bool:
        """Complete u's duplicate in a layer, with all of HN(u, n); whether v gains it."""
        here, fresh, classes = self.layers[layer], {}, []
        first = len(self.cls)

        def duplicate(x: int) -> int:
            if x in here:
                return here[x]
            if x not in fresh:
                fresh[x] = first + len(classes)
                classes.append(self.cls[x])
            return fresh[x]

        copy = duplicate(u)
        edges = [(duplicate(a), duplicate(b)) for a, b in self._ball(u)]
        for at, cls in leaves or ():
            edges.append((duplicate(at), first + len(classes)))
            classes.append(cls)
        edges = [(a, b) for a, b in edges if max(a, b) >= first or b not in self.neighbours[a]]
        if not self._insert(classes, edges, v, copy):
            return False
        here.update(fresh)
        return True

    def _insert(self, classes: list[int], edges: list[Edge], v: int, u: int) -> bool:
        """Insert vertices and edges if that affects nobody and u becomes a member of v.PS."""
        first = len(self.cls)
        for cls in classes:
            self._append(cls, False)
        for a, b in edges:
            self.neighbours[a].add(b)
            self.neighbours[b].add(a)
        touched = set(range(first, len(self.cls))).union(*edges)
        touched = set().union(*(
            set().union(*self._circles(z, self.params.n_hops - 1)) for z in touched
        ))  # fmt: skip
        old = sorted(z for z in touched if z < first)
        rows = self.hist[old], self.size[old], self.n_edges[old]
        rooted = {z: self._rooted.pop(z) for z in old if z in self._rooted}
        for z in touched:
            self._count(z)
        changed = self._members_after(touched)
        if u in changed.get(v, self.members[v]) and all(
            self._is_unharmed(p, after) for p, after in changed.items()
        ):
            self.members |= changed
            self.inserted_edges += edges
            return True
        for a, b in edges:
            self.neighbours[a].remove(b)
            self.neighbours[b].remove(a)
        for z in range(len(self.cls) - 1, first - 1, -1):
            self.of_class[self.cls.pop()].pop()
            self.is_sensitive.pop()
            self.neighbours.pop()
            self._rooted.pop(z, None)
        for z in old:
            self._rooted.pop(z, None)
        self._rooted |= rooted
        self.hist[old], self.size[old], self.n_edges[old] = rows
        return False

    def _members_after(self, touched: set[int]) -> dict[int, set[int]]:
        """Return the protection sets that differ now."""
        changed: dict[int, set[int]] = {}
        for cls in {self.cls[z] for z in touched}:
            prior = [p for p in self.of_class[cls] if p in self.members]
            for z in touched & set(self.of_class[cls]) if prior else ():
                alike = self._resembling(z, prior)
                for p in prior:
                    if (p in alike) != (z in self.members[p]):
                        changed.setdefault(p, set(self.members[p])).symmetric_difference_update({z})
        for z in touched & set(self.members):
            changed[z] = self._resembling(z, self.of_class[self.cls[z]])
        return changed

    def _is_unharmed(self, p: int, after: set[int]) -> bool:
        """Whether somebody stays safe; who is at work loses no member."""
        before = self.members[p]
        return self._is_safe(after) if self._is_safe(before) else before <= after

    def _is_safe(self, members: set[int]) -> bool:
        sensitive = sum(self.is_sensitive[u] for u in members)
        return len(members) >= self.params.k and sensitive <= self.params.alpha * len(members)

    def _resembling(self, v: int, among: list[int]) -> set[int]:
        """Return who of a class is similar to v, v itself included."""
        others = np.array(among)
        others = others[self._are_near(v, self.hist[others], self.size[others])]
        return {u for u in others.tolist() if u == v or self._is_close(v, u)}

    def _are_near(self, v: int, hist: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray:
        """Whether value distributions are within t of v's, for every L and attribute."""
        gap = abs(hist * self.size[v][:, None] - self.hist[v] * size[:, :, None])
        sums = np.add.reduceat(gap, self.space.offsets[:-1], axis=2)
        t = self.params.t
        bound = 2 * t.numerator * (size * self.size[v])[:, :, None]
        return (sums * t.denominator <= bound).all(axis=(1, 2))

    def _is_close(self, v: int, u: int) -> bool:
        """Whether the edit distance is at most epsilon; what stays undecided is not."""
        sizes = abs(int(self.size[v, -1] - self.size[u, -1]))
        if sizes + abs(int(self.n_edges[v] - self.n_edges[u])) > self.params.epsilon:
            return False
        one, two = self._as_rooted(v), self._as_rooted(u)
        if one == two:
            return True
        if (one, two) not in self._answers:
            found = bool(are_within(one, two, self.params.epsilon))
            self._answers[one, two] = self._answers[two, one] = found
        return self._answers[one, two]

    def _as_rooted(self, v: int) -> Rooted:
        """Return HN(v, n), renumbered so that copies are often equal."""
        if v not in self._rooted:
            near: dict[int, set[int]] = {v: set()}
            for a, b in self._ball(v):
                near.setdefault(a, set()).add(b)
                near.setdefault(b, set()).add(a)
            names = {x: i for i, x in enumerate(near)}
            order = in_breadth(tuple(frozenset(names[y] for y in near[x]) for x in near))
            place = {list(near)[i]: p for p, i in enumerate(order)}
            self._rooted[v] = tuple(
                frozenset(place[y] for y in near[x]) for x in sorted(near, key=place.__getitem__)
            )
        return self._rooted[v]

    def _circles(self, v: int, hops: int) -> list[set[int]]:
        """Return the vertices 0, 1, .., `hops` hops from v."""
        circles, seen = [{v}], {v}
        for _ in range(hops):
            circles.append(set().union(*(self.neighbours[x] for x in circles[-1])) - seen)
            seen |= circles[-1]
        return circles

    def _ball(self, v: int) -> list[Edge]:
        """Return the edges of HN(v, n): those with an end within n - 1 hops."""
        inner = set().union(*self._circles(v, self.params.n_hops - 1))
        return [
            (a, b)
            for a in sorted(inner)
            for b in sorted(self.neighbours[a])
            if b > a or b not in inner
        ]

    def _append(self, cls: int, is_sensitive: bool) -> None:
        self.of_class.setdefault(cls, []).append(len(self.cls))
        self.cls.append(cls)
        self.is_sensitive.append(is_sensitive)
        self.neighbours.append(set())
        if len(self.cls) > len(self.hist):
            self.hist, self.size, self.n_edges = (
                np.concatenate((rows, np.zeros_like(rows)))
                for rows in (self.hist, self.size, self.n_edges)
            )

    def _count(self, v: int) -> None:
        """Count the values, vertices and edges of a neighbourhood."""
        circles = self._circles(v, self.params.n_hops)
        row = np.zeros(self.space.n_columns, dtype=np.int64)
        total = 0
        for level, circle in enumerate(circles):
            classes = np.array([self.cls[x] for x in circle], dtype=np.int64)
            np.add.at(row, self.space.columns[classes].reshape(-1), 1)
            total += len(circle)
            if level:
                self.hist[v, level - 1], self.size[v, level - 1] = row, total
        inner = set().union(*circles[:-1])
        ends = sum(len(self.neighbours[x]) for x in inner)
        inside = sum(len(self.neighbours[x] & inner) for x in inner) // 2
        self.n_edges[v] = ends - inside
