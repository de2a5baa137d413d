"""Whether two rooted neighbourhoods are within some edits, in plain Python and by itself.

The paper's releases for n >= 2 are made with it. It shares nothing with the verifier, which judges
them. Edits insert or delete one vertex or edge; attributes do not enter.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

Rooted = tuple[frozenset[int], ...]
"""The neighbours of each vertex; vertex 0 is the root, and every vertex is in its reach."""

NODES_MAX: Final = 2_000
"""Pairs of vertices tried before a pair of neighbourhoods stays undecided."""
ROUNDS: Final = 4


class _Undecided(Exception):
    pass


def are_within(one: Rooted, two: Rooted, limit: int, *, nodes_max: int = NODES_MAX) -> bool | None:
    """Return whether `limit` edits make one neighbourhood the other; None: undecided.

    With m1 and m2 edges of which c are mapped on each other the distance is the difference of
    vertices + (m1 - c) + (m2 - c): to map a vertex is never dearer than to delete it. So the
    smaller one may miss only so many edges, and a search in breadth from the roots ends soon.

    Examples
    --------
    >>> star, path = (frozenset({1, 2}), frozenset({0}), frozenset({0})), None
    >>> path = (frozenset({1}), frozenset({0, 2}), frozenset({1}))
    >>> are_within(star, path, 1), are_within(star, path, 2)
    (False, True)
    """
    if len(one) > len(two):
        one, two = two, one
    edges_1, edges_2 = (sum(map(len, graph)) // 2 for graph in (one, two))
    more = edges_2 - edges_1
    misses = (limit - (len(two) - len(one)) - more) // 2
    lost, gained = _degrees_apart(one, two)
    if misses < max(0, -more) or lost > 2 * misses or gained > 2 * (misses + more):
        return False
    search = _Search(one, two, misses, misses + more, nodes_max)
    try:
        return search.extends(0, 0, 0)
    except _Undecided:
        return None


def _degrees_apart(one: Rooted, two: Rooted) -> tuple[int, int]:
    """Return the ends of edges that `one`, and `two`, miss at least, however they are mapped."""
    ranked = [[len(graph[0]), *sorted(map(len, graph[1:]), reverse=True)] for graph in (one, two)]
    gaps = [a - b for a, b in zip_longest(*ranked, fillvalue=0)]
    return sum(max(gap, 0) for gap in gaps), sum(max(-gap, 0) for gap in gaps)


class _Search:
    """Maps the vertices of `one` in breadth, at most so many edges of either side missed."""

    def __init__(
        self, one: Rooted, two: Rooted, misses_1: int, misses_2: int, nodes_max: int
    ) -> None:
        self.one, self.two = one, two
        self.misses = misses_1, misses_2
        self.nodes = nodes_max
        self.order = in_breadth(one)
        self.colours = refined(one), refined(two)
        self.image: dict[int, int] = {}
        self.used: set[int] = set()

    def extends(self, at: int, missed_1: int, missed_2: int) -> bool:
        """Return whether the map can be completed from the vertex of this position on."""
        if at == len(self.order):
            return True
        x = self.order[at]
        wanted = {self.image[y] for y in self.one[x] if y in self.image}
        left = self.misses[0] - missed_1, self.misses[1] - missed_2
        tried = set()
        for lost_1, _, y in sorted(self._candidates(at, x, wanted, left[0])):
            self.nodes -= 1
            if self.nodes < 0:
                raise _Undecided
            # Vertices with the same neighbours stand for each other.
            lost_2 = len(self.two[y] & self.used) - (len(wanted) - lost_1)
            if lost_2 > left[1] or self.two[y] in tried:
                continue
            tried.add(self.two[y])
            self.image[x] = y
            self.used.add(y)
            if self.extends(at + 1, missed_1 + lost_1, missed_2 + lost_2):
                return True
            self.used.remove(y)
            del self.image[x]
        return False

    def _candidates(
        self, at: int, x: int, wanted: set[int], left: int
    ) -> list[tuple[int, tuple[int, int], int]]:
        """Return of each the edges that are lost, how unlike it is, and the vertex."""
        if at == 0:
            among = {0}
        elif len(wanted) > left:  # One of these edges at least is kept.
            among = set().union(*(self.two[y] for y in sorted(wanted)[: left + 1])) - self.used
        else:
            among = set(range(len(self.two))) - self.used
        degree, colour = len(self.one[x]), self.colours[0][x]
        found = [
            (
                len(wanted - self.two[y]),
                (abs(len(self.two[y]) - degree), int(self.colours[1][y] != colour)),
                y,
            )
            for y in among
            if degree - len(self.two[y]) <= left
        ]
        return [each for each in found if each[0] <= left]


def in_breadth(graph: Rooted) -> list[int]:
    """Return the vertices by their distance from the root, then by refined colours."""
    colours = refined(graph)
    order, seen = [0], {0}
    for x in order:
        fresh = sorted(graph[x] - seen, key=lambda y: (colours[y], y))
        seen.update(fresh)
        order += fresh
    return order


def refined(graph: Rooted) -> list[int]:
    """Return colours that isomorphic graphs share: numbers of neighbours, theirs, and so on."""
    colours = [len(near) + (v == 0) * len(graph) for v, near in enumerate(graph)]
    for _ in range(ROUNDS):
        colours = [
            hash((colour, *sorted(colours[y] for y in near)))
            for colour, near in zip(colours, graph, strict=True)
        ]
    return colours
