"""GraphML and GEXF."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe.inputs.compressed import opened
from ktsafe.inputs.network import Network
from ktsafe.inputs.spelling import value_text


def read_graphml(path: Path) -> Network:
    """Read a GraphML file."""
    import networkx as nx  # noqa: PLC0415

    with opened(path) as file:
        return _of_networkx("GraphML", nx.read_graphml(io.BytesIO(file.read())))


def read_gexf(path: Path) -> Network:
    """Read a GEXF file."""
    import networkx as nx  # noqa: PLC0415

    try:
        with opened(path) as file:
            return _of_networkx("GEXF", nx.read_gexf(io.BytesIO(file.read())))
    except nx.NetworkXException as error:
        raise ValueError("no GEXF") from error


def _of_networkx(format_: str, graph: Any) -> Network:
    nodes = list(graph.nodes)
    position = {node: v for v, node in enumerate(nodes)}
    names = dict.fromkeys(name for _, data in graph.nodes(data=True) for name in data)
    columns = {
        _column_name(name): [value_text(graph.nodes[node].get(name)) for node in nodes]
        for name in names
    }
    rows = np.array([(position[u], position[v]) for u, v in graph.edges()], dtype=np.int64)
    # Readers of networkx number edges, which their owner did not ask for.
    ignored = {str(name) for *_, data in graph.edges(data=True) for name in data} - {"id"}
    directed = len(rows) if graph.is_directed() else 0
    ids = [str(node) for node in nodes]
    return Network.of_rows(format_, ids, rows, columns, directed=directed, ignored=ignored)


def _column_name(name: str) -> str:
    """Return the name of an attribute of vertices; `id`, `source` and `target` mean something."""
    return f"{name}_" if name in {"id", "source", "target"} else name
