"""Pivots that decide edit distances by the triangle inequality, in both directions.

For a pivot p and two graphs u, v with proven bounds of their distances to p:

    lower(u, p) - upper(v, p) <= distance(u, v) <= upper(u, p) + upper(v, p).

So a pair is *rejected* if some lower bound exceeds some upper bound by more than the limit, and
*accepted* if two upper bounds add up to the limit or less. Heuristic distances taken for exact
ones would reject true members and hide sensitive ones; intervals never do.

Source: the paper's pivots (Lemmas on pruning). *Departure*: intervals in place of one number, and
acceptance, which is what pays: alike neighbourhoods lie within half the limit of one pivot. The
verifier does without: deciding all pairs of Cora at n = 2 takes less than a table of distances.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.verify.edit_distance import NODES_MAX, Answer, Rooted, graph_edit_distance

UNBOUNDED = np.iinfo(np.int64).max // 4
"""An upper bound that is not known; sums and differences of two stay inside int64."""


@dataclasses.dataclass(frozen=True, eq=False)
class PivotIntervals:
    """Proven distances of graphs to pivots.

    Attributes
    ----------
    lower, upper:
        int64, shape (pivots, graphs); `upper` is `UNBOUNDED` where none is known.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]

    @classmethod
    def of_graphs(
        cls,
        graphs: Sequence[Rooted],
        pivots: Sequence[int],
        *,
        reach: int,
        nodes_max: int = NODES_MAX,
    ) -> PivotIntervals:
        """Bound the distance of every graph to each pivot, as far as `reach`.

        Parameters
        ----------
        graphs:
            From `ktsafe.verify.edit_distance.rooted`.
        pivots:
            Positions in `graphs`.
        reach:
            Distances beyond it are only known to be beyond; twice the later limit is plenty.
        """
        lower = np.zeros((len(pivots), len(graphs)), dtype=np.int64)
        upper = np.full_like(lower, UNBOUNDED)
        for row, pivot in enumerate(pivots):
            for column, graph in enumerate(graphs):
                found = graph_edit_distance(
                    graphs[pivot], graph, upper_bound=reach, nodes_max=nodes_max
                )
                lower[row, column] = found.lower
                if found.upper is not None:
                    upper[row, column] = found.upper
        return cls(lower, upper)

    def answer(self, u: int, v: int, limit: int) -> Answer:
        """Say whether the distance of two graphs is within `limit`, as far as pivots tell."""
        if len(self.lower) == 0:
            return "undecided"
        if int((self.upper[:, u] + self.upper[:, v]).min()) <= limit:
            return "within"
        apart = max(
            int((self.lower[:, u] - self.upper[:, v]).max()),
            int((self.lower[:, v] - self.upper[:, u]).max()),
        )
        return "beyond" if apart > limit else "undecided"
