"""The latest graph of a sequence, for its readers.

Dark pairs of classes have the edges that they showed last.

It joins what readers have anyway. It is no release of its own: nobody promises anything for it
beyond what the releases promise together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

import numpy as np

from ktsafe.graph.latest_graph import of_dark_pairs
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.files.releases_write import csv_lines

EDGES_LATEST: Final = "edges-latest.csv"
"""Written beside a release that was read; no file of the release itself."""
LATEST_HEADER: Final = ("source", "target", "shown_in")


@dataclasses.dataclass(frozen=True, eq=False)
class LatestGraph:
    """The vertices of a release, and the edges of its latest graph.

    Attributes
    ----------
    release:
        The last release, with the edges of the latest graph in place of its own. Its manifest is
        that of the release, which counts fewer.
    shown_in:
        For every edge the id of the release that showed it last.
    """

    release: Release
    shown_in: list[str]

    def csv(self) -> Iterable[str]:
        """Return the edges as CSV text, sorted, in blocks."""
        # Each text is made once, not for every edge.
        ids = list(self.release.ids)
        pairs = [sorted((ids[u], ids[v])) for u, v in self.release.edges.tolist()]
        rows = sorted((*pair, shown) for pair, shown in zip(pairs, self.shown_in, strict=True))
        return csv_lines(LATEST_HEADER, rows)


def follow(before: LatestGraph | None, release: Release) -> LatestGraph:
    """Return a release's latest graph, from that of the former."""
    name = release.manifest.release_id
    own = LatestGraph(release, [name] * len(release.edges))
    former = before.release if before is not None else None
    if former is None or former.manifest.sequence_id != release.manifest.sequence_id:
        return own
    assert before is not None
    position = {one: v for v, one in enumerate(release.ids)}
    moved = np.array([position.get(one, -1) for one in former.ids], dtype=np.int64)
    ends = moved[former.edges]
    there = np.flatnonzero((ends >= 0).all(axis=1))
    of, _ = release.classes()
    kept = there[of_dark_pairs(of, release.edges, ends[there])]
    return LatestGraph(
        dataclasses.replace(release, edges=np.concatenate((release.edges, ends[kept]))),
        own.shown_in + [before.shown_in[row] for row in kept.tolist()],
    )
