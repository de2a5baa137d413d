"""One release of a reader: the graph, and figures of its network.

Methods may be added, for libraries by `imported`. Draws are fixed by the counts, so the same
release tells the same intervals (tests/ktsafe/reader/test_reader.py); a gap is never told as zero.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidParams
from ktsafe.reader.estimates import (
    ACROSS,
    CHANGES,
    DRAWS,
    FIGURES,
    WITHOUT_ATTRIBUTE,
    Estimate,
    FigureCounts,
    Floats,
    StudiedTable,
    calibrated_edges,
    estimate_of,
    laplace,
    raked,
)
from ktsafe.seals import Signature

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd
    from torch_geometric.data import Data


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and texts as a table of HTML.

    Examples
    --------
    >>> print(html_table([("ties", "a < b")]))
    <table><tr><th style='text-align:left'>ties</th><td style='text-align:left'>a &lt; b</td></tr></table>
    """  # noqa: E501 -- one line of HTML
    inside = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table>{inside}</table>"


# One release as its reader has it: the graph, and figures of the network behind it.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StudiedRelease:
    """Release: its graph, and figures of the network behind it.

    Attributes
    ----------
    manifest:
        What manifest.json says.
    ids:
        Published ids, shape (n,); people without a tie are among them.
    columns:
        The values of each attribute, by position.
    edges:
        int64, shape (m, 2): positions.
    tables:
        Noisy counts of the true network; empty without statistics.json.
    signature:
        "unsigned", "not checked" (no key was given), "valid", or "vouched for": a later release
        with a valid signature names this one.
    """

    manifest: Mapping[str, Any]
    ids: NDArray[np.str_]
    columns: Mapping[str, NDArray[np.str_]]
    edges: NDArray[np.int64]
    tables: Sequence[StudiedTable] = ()
    signature: Signature = "not checked"

    def __repr__(self) -> str:
        return f"<StudiedRelease {self.release_id}: {self.size}; {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return html_table(self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "release", self.release_id
        if date := self.manifest.get("nominal_time"):
            yield "date", str(date)
        yield "graph", self.size
        others = [name for name in self.columns if name not in self.attributes]
        yield "attributes", ", ".join(self.attributes) or "none"
        if others:
            yield "sensitive", ", ".join(others)
        bars = f"with error bars, from {len(self.tables)} noisy tables"
        yield "figures", bars if self.tables else "of the graph alone, without error bars"
        yield "signature", self.signature

    @property
    def size(self) -> str:
        """How many vertices and edges it has, in words."""
        return f"{len(self.ids):,} vertices, {len(self.edges):,} edges"

    @property
    def release_id(self) -> str:
        """The name of the release."""
        return str(self.manifest["release_id"])

    @property
    def attributes(self) -> list[str]:
        """The quasi-identifiers, by which figures can be asked for."""
        return list(self.manifest["schema"]["quasi_identifiers"])

    @property
    def values(self) -> str:
        """Places of sensitive values: "exchanged" within cohorts, or "in place".

        Exchanged ones are right in number for each cohort, and tell nothing of single vertices or
        of who is tied to whom.
        """
        return str(self.manifest.get("values", "in place"))

    @property
    def ties(self) -> str | list[str]:
        """Rows that count as a tie: "any", "mutual" ones, or some kinds."""
        told: str | list[str] = self.manifest.get("ties", "any")
        return told

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """Both directions of every edge for PyTorch Geometric, int64, shape (2, 2m)."""
        return np.concatenate((self.edges, self.edges[:, ::-1])).T

    def to_networkx(self, *, weights: bool = False) -> nx.Graph:
        """Return a networkx graph by ids, with attributes and isolated vertices.

        `weights` gives each edge its `weight` (see `weights`), where there are noisy tables.
        """
        graph: nx.Graph = imported("networkx").Graph()
        ids = self.ids.tolist()
        for i, vertex in enumerate(ids):
            graph.add_node(
                vertex, **{name: str(column[i]) for name, column in self.columns.items()}
            )
        graph.add_edges_from((ids[a], ids[b]) for a, b in self.edges.tolist())
        if weights and self.tables:
            for (a, b), weight in zip(self.edges.tolist(), self.weights.tolist(), strict=True):
                graph.edges[ids[a], ids[b]]["weight"] = weight
        return graph

    def to_igraph(self) -> igraph.Graph:
        """Return an igraph graph, ids as `name`, with attributes and isolated vertices."""
        columns = {name: column.tolist() for name, column in self.columns.items()}
        return imported("igraph").Graph(
            n=len(self.ids),
            edges=self.edges.tolist(),
            vertex_attrs={"name": self.ids.tolist(), **columns},
        )

    def to_pandas(self, *, weights: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return vertices, by id, and edges with `source`, `target`, and perhaps `weight`."""
        pd = imported("pandas")
        vertices = pd.DataFrame(dict(self.columns), index=pd.Index(self.ids, name="id"))
        edges = pd.DataFrame(self.ids[self.edges], columns=["source", "target"])
        return vertices, edges.assign(weight=self.weights) if weights else edges

    def calibrated(self, seed: int = 0) -> StudiedRelease:
        """Return the release with edges calibrated to its tables, for simulations.

        Edges are added and dropped until ties between values are those of the tables, within their
        noise; triangles are kept. It is no release: nobody verified it.

        Parameters
        ----------
        seed:
            Draws the edges; the same one gives the same graph.

        Raises
        ------
        InvalidParams
            If the release has no statistics.json.
        """
        place = {name: i for i, name in enumerate(self.attributes)}
        ties = {place[t.by]: t for t in self.tables if t.of == "ties" and t.by in place}
        if not ties:
            msg = f"Release {self.release_id} has no noisy tables to agree with."
            raise InvalidParams(msg, hint="Ask its owner for statistics.json, or take the graph.")
        columns = [self.columns[name] for name in self.attributes]
        edges = calibrated_edges(columns, self.edges, ties, np.random.default_rng(seed))
        return dataclasses.replace(self, edges=edges)

    def to_pyg(self) -> Data:
        """Return the graph for PyTorch Geometric, attributes as codes in `x`.

        `x` is int64 of shape (n, attributes): positions in `np.unique` of each column.
        """
        torch, data = imported("torch"), imported("torch_geometric.data")
        codes = [np.unique(column, return_inverse=True)[1] for column in self.columns.values()]
        x = np.stack(codes, axis=1) if codes else np.zeros((len(self.ids), 0), dtype=np.int64)
        both = np.ascontiguousarray(self.edge_index)
        return data.Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(both))

    def estimate(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> Estimate:
        """Return a figure of the true network.

        Parameters
        ----------
        figure:
            One of `FIGURES`.
        values:
            As many values of the attribute as the figure takes.
        by:
            The attribute. Figures of the whole network need none.
        across:
            The attribute of the second value, for the figures in `ACROSS`.

        Raises
        ------
        InvalidParams
            If figure, attribute or values are not known.

        Examples
        --------
        >>> people, edges = np.array(["a", "b", "c"]), np.array([[0, 1], [1, 2]])
        >>> manifest = {"schema": {"quasi_identifiers": ["gender"]}}
        >>> release = StudiedRelease(manifest, people, {"gender": np.array(["f", "m", "f"])}, edges)
        >>> release.estimate("ties_between", "f", "m", by="gender")
        Estimate(value=2.0, low=None, high=None, source='graph')
        """
        check_asked(figure, values, by, across)
        drawn = self.drawn(figure, values, by, across)
        if len(drawn) == 1:
            return Estimate(float(drawn[0]), None, None, "graph")
        return estimate_of(drawn, figure)

    def drawn(
        self, figure: str, values: tuple[str, ...], by: str | None, across: str | None = None
    ) -> Floats:
        """Return a figure of tables and 2,000 draws, or of the graph."""
        if by is None:
            # The fewer cells are added up, the less noise.
            by = min(self.attributes, key=lambda name: len(np.unique(self.columns[name])))
        for name in (by, by if across is None else across):
            if name not in self.attributes:
                msg = f"There is no quasi-identifier {name!r}."
                raise InvalidParams(msg, hint=f"Known: {', '.join(self.attributes)}.")
        counts = self._counts[by] if across in {None, by} else self._across(by, str(across))
        try:
            return FIGURES[figure][1](counts, values)
        except KeyError as unknown:
            msg = f"No vertex has the value {unknown.args[0]!r} of {by}."
            raise InvalidParams(msg, hint="Only published values can be asked for.") from None

    @property
    def _spread(self) -> float:
        return float(np.bincount(self.edges.reshape(-1), minlength=max(len(self.ids), 1)).std())

    @cached_property
    def _counts(self) -> dict[str, FigureCounts]:
        return {name: self.counts(name) for name in self.attributes}

    def counts(self, by: str) -> FigureCounts:
        """Return an attribute's counts of tables and draws, or of the graph."""
        of = {(table.of, table.by): table for table in self.tables}
        if ("people", by) not in of or ("ties", by) not in of:
            return self.shown(by)
        people = _with_noise(of["people", by])
        ties = _with_noise(of["ties", by])
        values = tuple(value for (value,) in of["people", by].cells)
        place = {value: i for i, value in enumerate(values)}
        mixing = np.zeros((len(ties), len(values), len(values)))
        for (a, b), column in zip(of["ties", by].cells, ties.T, strict=True):
            mixing[:, place[a], place[b]] = mixing[:, place[b], place[a]] = column
        changes = {
            CHANGES[table.of, str(what)]: column
            for table in self.tables
            if table.of.startswith("changes")
            for (what,), column in zip(table.cells, _with_noise(table).T, strict=True)
        }
        bins, told = np.zeros(0, dtype=np.int64), None
        if (degrees := of.get(("degrees", None))) is not None:
            bins = np.array([int(least or 0) for (least,) in degrees.cells], dtype=np.int64)
            told = _with_noise(degrees)
        return FigureCounts(values, people, mixing, bins, told, self._spread, changes=changes)

    def _across(self, by: str, across: str) -> FigureCounts:
        """Return neighbours by values of another attribute, of tables or graph."""
        counts = self._counts[by]
        for table in self.tables:
            if table.of == "across" and {table.by, table.across} == {by, across}:
                rows, columns = (
                    tuple(dict.fromkeys(cell[i] for cell in table.cells)) for i in (0, 1)
                )
                mixing = _with_noise(table).reshape(-1, len(rows), len(columns))
                if table.by != by:
                    rows, columns, mixing = columns, rows, mixing.transpose(0, 2, 1)
                return dataclasses.replace(counts, names=rows, mixing=mixing, across=columns)
        names, first = np.unique(self.columns[by], return_inverse=True)
        others, second = np.unique(self.columns[across], return_inverse=True)
        square = np.zeros((1, len(names), len(others)))
        source, target = self.edge_index
        np.add.at(square[0], (first[source], second[target]), 1)
        return dataclasses.replace(
            counts, names=tuple(names.tolist()), mixing=square, across=tuple(others.tolist())
        )

    def shown(self, by: str) -> FigureCounts:
        """Return the counts of the published graph, one draw."""
        names, of_vertex = np.unique(self.columns[by], return_inverse=True)
        n = len(names) + 1
        ends = np.sort(of_vertex[self.edges], axis=1)
        square = np.zeros((1, n, n))
        np.add.at(square[0], (ends[:, 0], ends[:, 1]), 1)
        square = np.maximum(square, square.transpose(0, 2, 1))
        people = np.bincount(of_vertex, minlength=n)[None].astype(np.float64)
        degrees = np.bincount(self.edges.reshape(-1), minlength=len(self.ids))
        bins = np.arange(degrees.max(initial=0) + 1)
        of_degree = np.bincount(degrees, minlength=len(bins))[None].astype(np.float64)
        return FigureCounts((*names.tolist(), None), people, square, bins, of_degree, self._spread)

    def mixing(self, by: str) -> list[dict[str, Any]]:
        """Return, for each two values, ties as estimated and edges as shown.

        Rows have `values`, `ties` (an `Estimate`), `edges`, and `is_shown`: False where both values
        have people and no edge joins them. That is not shown; it does not mean that there are none.
        """
        shown = self.shown(by)
        *known, _ = shown.names
        rows = []
        for a, b in itertools.combinations_with_replacement(range(len(known)), 2):
            pair = (str(known[a]), str(known[b]))
            n_edges = int(shown.mixing[0, a, b])
            estimate = self.estimate("ties_between", *pair, by=by)
            rows.append(
                {"values": pair, "ties": estimate, "edges": n_edges, "is_shown": n_edges > 0}
            )
        return rows

    def not_shown(self, by: str) -> list[tuple[str, str]]:
        """Return pairs of values with people and no edge: gaps, not zeros."""
        return [row["values"] for row in self.mixing(by) if not row["is_shown"]]

    @cached_property
    def weights(self) -> Floats:
        """Weights of edges that make the graph's ties agree with the tables.

        Fitted in turn to the ties between the values of each attribute (Deming and Stephan, 1940).
        What is not shown has no edge to weigh. float64, shape (m,); ones without tables.
        """
        weights = np.ones(len(self.edges))
        margins = []
        for table in self.tables:
            if table.of != "ties" or table.by is None:
                continue
            column = self.columns[table.by]
            cell = {pair: i for i, pair in enumerate(table.cells)}
            cell |= {(b, a): i for (a, b), i in cell.items()}
            ends = column[self.edges].tolist()
            at = np.array([cell[a, b] for a, b in ends], dtype=np.int64)
            margins.append((at, np.maximum(table.counts, 0).astype(np.float64)))
        return raked(weights, margins)


def check_asked(
    figure: str, values: Sequence[str], by: str | None, across: str | None = None
) -> None:
    """Raise InvalidParams if no such figure can be asked for."""
    if figure not in FIGURES:
        msg = f"There is no figure {figure!r}."
        raise InvalidParams(msg, hint=f"Known: {', '.join(FIGURES)}.")
    wanted = FIGURES[figure][0]
    if len(values) != wanted or (by is None and figure not in WITHOUT_ATTRIBUTE):
        msg = f"Figure {figure!r} takes {wanted} values of an attribute."
        raise InvalidParams(msg, hint=f"Such as: estimate({figure!r}{', value' * wanted}, by=...).")
    if across is not None and figure not in ACROSS:
        msg = f"Figure {figure!r} is of one attribute."
        raise InvalidParams(msg, hint=f"Across two: {', '.join(sorted(ACROSS))}.")


def _with_noise(table: StudiedTable) -> Floats:
    """Return the counts, and fixed draws of them with equal noise added."""
    seed = np.abs(table.counts) if len(table.counts) else [0]
    rng = np.random.default_rng([*np.asarray(seed).tolist(), len(table.cells)])
    drawn = table.counts + laplace(table.scale, (DRAWS + 1, len(table.counts)), rng)
    drawn[0] = table.counts
    return drawn


def imported(name: str) -> Any:
    """Import a module that `ktsafe.read` works without.

    Raises
    ------
    ModuleNotFoundError
        With what to install.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = name.partition(".")[0]
        if error.name != missing:
            raise
        msg = f"{missing} is not installed. Install it: pip install {missing}"
        raise ModuleNotFoundError(msg, name=missing) from None
