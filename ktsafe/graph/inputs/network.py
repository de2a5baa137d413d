"""A network as it was understood, and doubts about it.

A field that readers fill goes into `Inspection.to_mapping`, and into every reader or has a default.
`edges` stay sorted and each pair once: graphs are made of them as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph

Kind = Literal["text", "number", "boolean", "date"]
"""What a file or a table says of a column; tables of texts say nothing, so theirs are texts."""

DIRECTIONS: Final = "directions"


@dataclasses.dataclass(frozen=True, eq=False)
class Network:
    """A network as it was understood; n people, m ties.

    Attributes
    ----------
    format:
        The name of the format or library, for people: "edge list", "CSV", "networkx".
    ids:
        The text of each person's id, each once.
    columns:
        For each attribute of people its values in the order of `ids`, as texts; None where missing.
    kinds:
        What the format says of a column, for those of which it says anything.
    edges:
        int64, shape (m, 2): positions in `ids`, the smaller first, each pair once, ascending.
    edges_repeated:
        Rows that name a pair again, in the same direction or the other one.
    loops:
        Rows that join a person to itself; they are no ties.
    directed:
        Rows that say a direction, which is dropped: a row in either direction makes a tie.
    ignored:
        What was given and is not read, a noun phrase each, in ascending order: "directions", names
        of attributes of ties, "columns behind the second", "values" of a matrix.
    notes:
        What was decided by the format's rule and may surprise, a sentence each.
    """

    format: str
    ids: list[str]
    columns: dict[str, list[str | None]]
    edges: NDArray[np.int64]
    kinds: dict[str, Kind] = dataclasses.field(default_factory=dict)
    edges_repeated: int = 0
    loops: int = 0
    directed: int = 0
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def isolates(self) -> int:
        """How many people have no tie."""
        return len(self.ids) - int(np.count_nonzero(np.bincount(self.edges.reshape(-1))))

    @classmethod
    def of_rows(
        cls,
        format_: str,
        ids: Sequence[str],
        rows: NDArray[np.int64],
        columns: Mapping[str, Sequence[str | None]] | None = None,
        *,
        kinds: Mapping[str, Kind] | None = None,
        directed: int = 0,
        ignored: Collection[str] = (),
        notes: Sequence[str] = (),
    ) -> Network:
        """Return the network of rows that may repeat a pair.

        Parameters
        ----------
        rows:
            int64, shape (rows, 2): the positions of both ends in `ids`.

        Raises
        ------
        InvalidGraph
            If an id stands twice, or a column has another length.

        Examples
        --------
        >>> network = Network.of_rows("CSV", ["a", "b"], np.array([[1, 0], [0, 1], [1, 1]]))
        >>> network.edges.tolist(), network.edges_repeated, network.loops
        ([[0, 1]], 1, 1)
        """
        if len(set(ids)) != len(ids):
            raise InvalidGraph("Two people have the same id.")
        texts = {name: list(values) for name, values in (columns or {}).items()}
        if any(len(values) != len(ids) for values in texts.values()):
            raise InvalidGraph("A column does not have a value for each person.")
        ends = np.asarray(rows, dtype=np.int64).reshape(-1, 2)
        is_loop = ends[:, 0] == ends[:, 1]
        edges = distinct(np.sort(ends[~is_loop], axis=1))
        loops = int(is_loop.sum())
        return cls(
            format_,
            list(ids),
            texts,
            edges,
            dict(kinds or {}),
            edges_repeated=len(ends) - loops - len(edges),
            loops=loops,
            directed=directed,
            ignored=tuple(sorted({*ignored, *([DIRECTIONS] if directed else [])})),
            notes=tuple(notes),
        )

    def to_networkx(self) -> Any:
        """Return an undirected networkx graph, which `ktsafe.protect` takes."""
        import networkx as nx  # noqa: PLC0415 -- only callers that need its graphs wait for it

        graph = nx.Graph()
        for v, name in enumerate(self.ids):
            graph.add_node(name, **{column: values[v] for column, values in self.columns.items()})
        graph.add_edges_from((self.ids[u], self.ids[v]) for u, v in self.edges.tolist())
        return graph


def distinct(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of positions, each once, ascending.

    They are sorted as single numbers: `numpy.unique` takes some fifty times as long.
    """
    keys = pairs[:, 0] << 32 | pairs[:, 1]
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) != 0]
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF))
