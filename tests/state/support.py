"""What the tests of the store share: schemas, generated changes, and graphs in plain sets."""

from __future__ import annotations

from hypothesis import strategies as st

from ktsafe import MISSING, Schema
from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.state.snapshot import GraphSnapshot
from tests.state.naive_fold import Edges, Vertices

SCHEMA = Schema(
    quasi_identifiers=("gender", "age"),
    sensitive="illness",
    sensitive_values=frozenset({"flu"}),
    buckets={"age": (18.0, 65.0)},
)

IDS = ("ann", "bob", "cyd", "dan", "eve")
MARKS = (None, None, None, ("friend", False), (None, True))
VALUES = {
    "gender": ("f", "m", None),
    "age": ("7", "18", "70", None),
    "illness": ("flu", "none", None),
}


def stamp(time_us: int, offset: int = 0, partition: int = 0, topic: str = "t") -> Stamp:
    """Return a stamp; most tests care about the time only."""
    return Stamp(time_us, topic, partition, offset)


def published(vertices: Vertices) -> dict[str, dict[str, str]]:
    """Return folded vertices with the categories a snapshot shows."""
    return {
        vertex: {name: SCHEMA.category(name, values.get(name)) for name in SCHEMA.attributes}
        for vertex, values in vertices.items()
    }


def plain(snapshot: GraphSnapshot) -> tuple[dict[str, dict[str, str]], Edges]:
    """Return a snapshot as vertices with categories, and edges."""
    graph, ids = snapshot.graph, snapshot.ids
    assert len(set(ids)) == len(ids) == graph.n_vertices
    vertices = {vertex: graph.values(v) for v, vertex in enumerate(ids)}
    return vertices, {frozenset((ids[u], ids[v])) for u, v in graph.edges.tolist()}


def exactly(snapshot: GraphSnapshot) -> tuple[object, ...]:
    """Return all of a snapshot, the order of vertices and the codes included."""
    graph = snapshot.graph
    return (
        list(snapshot.ids),
        graph.categories,
        graph.codes.tolist(),
        graph.indptr.tolist(),
        graph.indices.tolist(),
    )


def blank() -> dict[str, str]:
    """Return the attributes of a person who gave none."""
    return dict.fromkeys(SCHEMA.attributes, MISSING)


@st.composite
def changes(draw: st.DrawFn, size_max: int = 30) -> list[Change]:
    """Draw changes with distinct stamps, many of them at equal times and on few persons."""
    drawn: list[Change] = []
    for offset in range(draw(st.integers(0, size_max))):
        at = Stamp(
            draw(st.integers(0, 6)), draw(st.sampled_from("ba")), draw(st.integers(0, 1)), offset
        )
        kind = draw(st.integers(0, 5))
        one, two = draw(st.lists(st.sampled_from(IDS), min_size=2, max_size=2, unique=True))
        mark = draw(st.sampled_from(MARKS))
        if kind <= 1:
            names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
            values = {name: draw(st.sampled_from(VALUES[name])) for name in names}
            drawn.append(VertexUpsert(at, one, values))
        elif kind == 2:
            drawn.append(VertexDelete(at, one))
        elif kind == 5:
            drawn.append(EdgeRemove(at, one, two, mark))
        else:
            drawn.append(EdgeAdd(at, one, two, mark))
    return drawn
