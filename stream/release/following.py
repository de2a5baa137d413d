"""A sequence's pace behind the network, counted as releases are made.

What must be remembered of the last releases (`ktsafe.audit.freshness.Recent`) is durable with the
release, as pages beside those of the mechanism. The release before is taken from the mechanism once
after a start, and is in memory from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph
from ktsafe.audit.freshness import Recent, ReleaseView, follow
from ktsafe.graph.edges import edge_keys
from ktsafe.sequence import SequenceEngine
from ktsafe.sequence.sequence import Released

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
        self, truth: AttributedGraph, keys: NDArray[np.int64], released: Released
    ) -> dict[str, Any]:
        """Return the figures of the release that was made, JSON-ready.

        Parameters
        ----------
        truth, keys:
            The true graph that it was made of, and the key of every vertex.
        """
        now = view_of(truth, keys, released)
        recent, found = follow(self._recent, self._before, now)
        self._next = recent, now.bare()
        return found.to_mapping()

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield the pages to keep of the release followed last."""
        assert self._next is not None
        recent, _ = self._next
        for name, page in recent.pages():
            yield f"{PREFIX}{name}", page

    def knows(self, releases: int) -> bool:
        """Whether the followed release remembers so many before it, or all."""
        assert self._next is not None
        recent, _ = self._next
        return not recent.since or recent.release - recent.since >= releases

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
        edges=released.graph.edges,
        classes=released.graph.qi_classes.astype(np.int64),
    )
