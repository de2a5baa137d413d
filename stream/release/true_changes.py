"""True changes between two snapshots, and how releases follow them.

Two snapshots of one running store number vertices and codes alike, so they are compared position by
position: one pass over arrays, and work for what differs. After a restart the
mechanism's own memory of the truth stands in for the former snapshot.

Either way gives the same changes in the same order, so a restart changes no byte:
tests/stream/release/test_true_changes.py compares both. `PREFIX` names pages of states and cannot
change; hints may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph
from ktsafe.audit import Traced
from ktsafe.audit.changes_by_age import ToldFreshness
from ktsafe.audit.freshness import Differences, Recent, ReleaseView, follow
from ktsafe.errors import WrittenOtherwise
from ktsafe.graph.inputs.spelling import looks_missing
from ktsafe.graph.numbering import edge_ends, edge_keys, renumbered
from ktsafe.sequence import Changes, SequenceEngine
from ktsafe.sequence.sequence import Released
from ktsafe.state.snapshot import GraphArrays, lower, upper
from ktsafe.stream.process.logs import get_logger

Numbers: TypeAlias = NDArray[np.int64]


def changes_since(old: GraphArrays, new: GraphArrays) -> Changes:
    """Return changes between graphs `old` and `new` of one lineage.

    Keys are lives; they and ties come in ascending order, so equal changes are equal arrays.
    """
    assert old.lineage is new.lineage
    before = _padded(old.lives, len(new.lives))
    now = new.lives
    moved = before != now
    joined = np.flatnonzero(moved & (now >= 0))
    changed = np.flatnonzero(~moved & (now >= 0) & _recoded(old, new))
    joined, changed = (numbers[np.argsort(now[numbers])] for numbers in (joined, changed))
    removed, added = _ties(old, new, before, moved)
    return Changes(
        joined=now[joined],
        joined_values=_texts(new, joined),
        left=np.sort(before[moved & (before >= 0)]),
        changed=now[changed],
        changed_values=_texts(new, changed),
        ties_added=_without(added, removed),
        ties_removed=_without(removed, added),
    )


def _padded(values: Numbers, size: int) -> Numbers:
    # Numbers are never given back to the arrays' end.
    return np.concatenate((values, np.full(size - len(values), -1, dtype=np.int64)))


def _recoded(old: GraphArrays, new: GraphArrays) -> NDArray[np.bool_]:
    differs = np.ones(len(new.lives), dtype=np.bool_)
    differs[: len(old.lives)] = (old.codes != new.codes[: len(old.lives)]).any(axis=1)
    return differs


def _texts(arrays: GraphArrays, numbers: NDArray[np.intp]) -> list[tuple[str, ...]]:
    return [
        tuple(texts[code] for texts, code in zip(arrays.categories, codes, strict=True))
        for codes in arrays.codes[numbers].tolist()
    ]


def _ties(
    old: GraphArrays, new: GraphArrays, before: Numbers, moved: NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Return the ties, as pairs of lives, gone and come.

    A tie of somebody who moved may be among both.
    """
    either = np.concatenate((old.edges, new.edges))
    either.sort(kind="stable")  # Two ascending runs are merged.
    is_one = np.ones(len(either), dtype=np.bool_)
    differs = either[1:] != either[:-1]
    is_one[1:] &= differs
    is_one[:-1] &= differs
    ones = either[is_one]
    return _pairs(old, ones, moved, before), _pairs(new, ones, moved, new.lives)


def _pairs(arrays: GraphArrays, ones: Numbers, moved: NDArray[np.bool_], lives: Numbers) -> Numbers:
    """Return a graph's ties among some, or of movers."""
    edges = arrays.edges
    at = edges.searchsorted(ones)
    chosen = np.zeros(len(edges), dtype=np.bool_)
    if len(edges):
        chosen[at[edges.take(at, mode="clip") == ones]] = True
    if moved.any():
        chosen |= moved[lower(edges)] | moved[upper(edges)]
    ends = np.column_stack((lower(edges[chosen]), upper(edges[chosen])))
    return edge_ends(np.sort(edge_keys(renumbered(lives, ends))))


def _without(ties: Numbers, others: Numbers) -> Numbers:
    gone = set(map(tuple, others.tolist()))
    kept = [tie for tie in ties.tolist() if tuple(tie) not in gone]
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


# Whether the network is spelt as it was.
#
# What a program writes otherwise is no change of people.
#
# A producer that begins to write `3.0` for `3` changes everybody at once. Published, all would
# appear a second time, and whoever has a sensitive value could have one that nobody declared.

log = get_logger(__name__)

_MEANT = "If it is meant, set [release] change_max = 1 for this release."


def check_spelt_as_before(
    engine: SequenceEngine, changes: Changes, graph: AttributedGraph, change_max: float
) -> None:
    """Refuse a network in which more changed at once than people change.

    Parameters
    ----------
    engine:
        The sequence as of the release before.
    changes:
        What changed since.
    graph:
        The network now.
    change_max:
        The greatest share of the people of both dates whose value of one attribute may differ;
        1: all of it is meant. Fewer than k people are never too many.

    Raises
    ------
    WrittenOtherwise
        With the attribute. No value is named but those that the schema declares.
    """
    if change_max >= 1:
        return
    held = engine.sensitive_texts()
    shown = {graph.categories[-1][code] for code in np.unique(graph.codes[:, -1])}
    if held and not held & shown:
        named = ", ".join(map(repr, sorted(held)))
        msg = f"No person has a sensitive value of {graph.schema.sensitive!r} any more: {named}."
        raise WrittenOtherwise(msg, hint=f"See how the feed spells it. {_MEANT}")
    stayed = graph.n_vertices - len(changes.joined)
    bound = max(engine.params.k, change_max * stayed)
    before = engine.values_of(changes.changed)
    for j, name in enumerate(graph.schema.attributes):
        now = changes.changed_values
        changed = sum(old[j] != new[j] for old, new in zip(before, now, strict=True))
        if changed > bound:
            msg = f"More than {change_max:.0%} of the people changed {name!r} at once."
            raise WrittenOtherwise(msg, hint=f"It looks as if it is written otherwise. {_MEANT}")


def told_once() -> Callable[[AttributedGraph], None]:
    """Return a first warning of texts such as `NULL`.

    They are values like any other.

    The log names the attributes, and no value.
    """
    graphs_told = 0

    def tell(graph: AttributedGraph) -> None:
        nonlocal graphs_told
        graphs_told += 1
        if graphs_told == 1 and (names := _that_look_missing(graph)):
            hint = "They are published as values like any other. Leave out those that are missing."
            log.warning("values look missing", subject=", ".join(names), hint=hint)

    return tell


def _that_look_missing(graph: AttributedGraph) -> list[str]:
    schema = graph.schema
    return [
        name
        for j, name in enumerate(schema.attributes)
        if any(looks_missing(graph.categories[j][code]) for code in np.unique(graph.codes[:, j]))
    ]


# A sequence's pace behind the network, counted as releases are made.
#
# What must be remembered of the last releases (`ktsafe.audit.freshness.Recent`) is durable with the
# release, as pages beside those of the mechanism. The release before is taken from the mechanism
# once after a start, and is in memory from then on.

PREFIX: Final = "freshness/"
"""Of the names of the pages."""


class Following:
    """Follows one sequence, release by release.

    Parameters
    ----------
    pages:
        The pages of the last staged release of the sequence; none before its first.
    """

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        own = {name.removeprefix(PREFIX): pages[name] for name in pages if name.startswith(PREFIX)}
        self._recent = Recent.from_pages(own) if own else None
        self._before: ReleaseView | None = None
        self._next: tuple[Recent, ReleaseView] | None = None

    def prepare(self, engine: SequenceEngine) -> None:
        """Take the release before from the mechanism, unless it is known."""
        if self._before is None:
            truth, keys = engine.truth()
            self._before = view_of(truth, keys, engine.released())
            # A sequence that was begun by a version that did not count: all is old.
            self._recent = self._recent or Recent.begin(engine.release)

    def follow(
        self, traced: Traced, keys: NDArray[np.int64], released: Released
    ) -> tuple[ToldFreshness, Differences | None]:
        """Return the figures of the release that was made, and what changed.

        Parameters
        ----------
        traced, keys:
            The release beside the true graph, and the key of every vertex of that.
        """
        now = view_of(traced.original, keys, released)
        recent, found, step = follow(self._recent, self._before, now, traced.n_shared_edges)
        self._next = recent, now
        return found.told(), step

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield the pages to keep of the release followed last."""
        assert self._next is not None
        recent, _ = self._next
        for name, page in recent.pages():
            yield f"{PREFIX}{name}", page

    def knows(self, releases: int) -> bool:
        """Whether the next release remembers so many before it, or all."""
        recent = self._recent
        return recent is None or not recent.since or recent.release + 1 - recent.since >= releases

    def oldest(self, released: Released, now: int, max_age: int) -> int | None:
        """Return how many releases before `now` the oldest shown pair was planned.

        None where nobody knows, or where releases are not made pair by pair.
        """
        if not (released.planned or released.dark) or not self.knows(max_age):
            return None
        return max((now - pair.release for pair in released.planned), default=0)

    def end_build(self, *, staged: bool) -> None:
        """Keep what was counted last if the release is staged."""
        if staged and self._next is not None:
            self._recent, self._before = self._next
        self._next = None


def view_of(truth: AttributedGraph, keys: NDArray[np.int64], released: Released) -> ReleaseView:
    """Return a release beside its true graph, as freshness is counted."""
    return ReleaseView(
        people=keys,
        # Mostly in order already, which a stable sort sees.
        ties=np.sort(edge_keys(keys[truth.edges]), kind="stable"),
        ids=released.ids,
        owners=released.keys,
        edges=edge_keys(released.graph.edges),
        classes=released.graph.qi_classes.astype(np.int64),
    )
