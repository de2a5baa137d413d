"""The columns in which neighbourhoods count the values of quasi-identifiers.

With n = 1 a neighbourhood is a star, and all that the definition reads from it is the degree and,
for each quasi-identifier, how often each value occurs among the vertex and its neighbours.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph


@dataclasses.dataclass(frozen=True, eq=False)
class QuasiIdentifierSpace:
    """The quasi-identifier tuples in a graph, and their columns of counts.

    Attributes
    ----------
    tuples:
        int32, shape (classes, q): the codes of each class.
    offsets:
        int64, shape (q + 1,): attribute j counts in columns offsets[j]..offsets[j + 1] - 1.
    columns:
        int64, shape (classes, q): the columns in which a vertex of each class counts.
    """

    tuples: NDArray[np.int32]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of distinct quasi-identifier tuples."""
        return len(self.tuples)

    @property
    def n_columns(self) -> int:
        """Columns of a histogram row."""
        return int(self.offsets[-1])

    @classmethod
    def of_graph(cls, graph: AttributedGraph) -> QuasiIdentifierSpace:
        """Collect the tuples of `graph`; classes are numbered as in `graph.qi_classes`.

        Only values that occur get a column: absent ones could never be counted.
        """
        n_classes = int(graph.qi_classes.max(initial=-1)) + 1
        q = graph.codes.shape[1] - 1
        tuples = np.zeros((n_classes, q), dtype=np.int32)
        tuples[graph.qi_classes] = graph.codes[:, :-1]
        offsets = np.zeros(q + 1, dtype=np.int64)
        columns = np.zeros((n_classes, q), dtype=np.int64)
        for j in range(q):
            values, dense = np.unique(tuples[:, j], return_inverse=True)
            columns[:, j] = offsets[j] + dense.reshape(-1)
            offsets[j + 1] = offsets[j] + len(values)
        return cls(tuples, offsets, columns)
