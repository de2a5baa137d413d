"""What removals give away: the view of whoever takes every published id for itself.

To the attacker an id that vanishes and one that appears are two vertices. Each is alone in its
presence, and the others of its cohort have a candidate less. This view is kept beside the one that
is judged, from the first removal of a sequence on; it decides nothing, and says who is exposed.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit import _profiles_core as core
from ktsafe.sequence_audit.candidates import Candidates, Stage
from ktsafe.sequence_audit.figures import sizes
from ktsafe.sequence_audit.profiles import Structure, edge_ends, edge_keys
from ktsafe.sequence_audit.release import grown
from ktsafe.sequence_audit.visible_changes import visible_changes


@dataclasses.dataclass(frozen=True, eq=False)
class Exposed:
    """Whom one release leaves with fewer than k, by what the ids alone say.

    Attributes
    ----------
    candidates:
        int64, shape (n,): |CS_all| of each vertex of the release.
    changed:
        int64, positions: vertices that visibly changed, with fewer than k candidates alike.
    """

    candidates: NDArray[np.int64]
    changed: NDArray[np.int64]


class Exposure:
    """The candidates by published id. Numbers are of ids.

    Parameters
    ----------
    candidates, edges, tuples:
        As of the last release before the first removal, when ids and objects were the same: the
        candidates, the keys of its ties ascending, and by number the quasi-identifiers.
    """

    def __init__(
        self, candidates: Candidates, edges: NDArray[np.int64], tuples: NDArray[np.int64]
    ) -> None:
        self.candidates = candidates.copy()
        self._edges = edges
        self._tuples = tuples

    def copy(self) -> Exposure:
        """Return a view that goes on from here by itself."""
        other = copy.copy(self)
        other.candidates = self.candidates.copy()
        return other

    def add(
        self,
        numbers: NDArray[np.int64],
        n_numbers: int,
        edges: NDArray[np.int64],
        structure: Structure,
        is_sensitive: NDArray[np.bool_],
        k: int,
    ) -> Exposed:
        """Take one more release.

        Parameters
        ----------
        numbers:
            int64, shape (n,): the number of each id.
        edges:
            int64, shape (m, 2): positions.
        structure:
            Of the same release by objects; who is similar to whom is the same by ids.
        """
        keys = np.sort(edge_keys(numbers[edges]))
        gained, lost = core.difference(keys, self._edges)
        tuples = np.full(n_numbers, -1, dtype=np.int64)
        tuples[numbers] = structure.tuple_now[structure.vertices]
        seen = dataclasses.replace(
            structure,
            vertices=numbers,
            edges=keys,
            gained=edge_ends(gained),
            lost=edge_ends(lost),
            tuple_now=tuples,
            tuple_before=grown(self._tuples, n_numbers, -1),
        )
        stage = Stage(numbers, structure.group, structure.similar, is_sensitive)
        self.candidates.add(stage, n_numbers)
        self._edges, self._tuples = keys, tuples
        changes = visible_changes(seen, self.candidates, np.zeros(n_numbers, dtype=np.bool_))
        alone = changes.vertices[changes.k_delta < k]
        return Exposed(sizes(self.candidates, numbers), np.flatnonzero(np.isin(numbers, alone)))
