"""An audit's own fold of a feed against the naive one of the state's tests."""

import dataclasses
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Schema
from ktsafe.audit.sequence import Declared
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.stream.release.audits import TrueFeed
from tests.state.naive_fold import fold

MARKS = st.sampled_from([None, None, ("friend", False), ("friend", True), (None, True)])
IDS = st.sampled_from("abcd")
SCHEMA = Schema(("group",), "health", frozenset({"x"}))
EVENTS = st.one_of(
    st.tuples(st.just("vertex.upsert"), IDS, st.sampled_from(["x", "y", None]), st.booleans()),
    st.tuples(st.just("vertex.delete"), IDS),
    st.tuples(st.just("edge.add"), IDS, IDS, MARKS),
    st.tuples(st.just("edge.remove"), IDS, IDS, MARKS),
)


BEGIN_MS = 1_767_225_600_000
"""2026: numbers before 1990 are no milliseconds."""


def wire(event, time):
    """Return the event as a line of a feed."""
    kind, first, *rest = event
    line = {"type": kind, "time": BEGIN_MS + time}
    if kind == "vertex.upsert":
        name = "group" if rest[1] else "health"
        return {**line, "id": first, "attributes": {name: rest[0]}}
    if kind == "vertex.delete":
        return {**line, "id": first}
    named, directed = rest[1] or (None, False)
    return {**line, "source": first, "target": rest[0], "kind": named, "directed": directed}


def change(event, stamp):
    """Return the event as the store takes it."""
    kind, first, *rest = event
    if kind == "vertex.upsert":
        return VertexUpsert(stamp, first, {"group" if rest[1] else "health": rest[0]})
    if kind == "vertex.delete":
        return VertexDelete(stamp, first)
    return (EdgeAdd if kind == "edge.add" else EdgeRemove)(stamp, first, *rest)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(EVENTS, st.integers(0, 3)), max_size=30),
    st.lists(st.integers(0, 60)),
    st.sampled_from(["any", "mutual"]),
)
def test_a_feed_folds_to_the_same_graph(tmp_path_factory, history, times, ties):
    """At every time, asked in any order, vertices, values and ties are those of the naive fold."""
    path = tmp_path_factory.mktemp("feed") / "feed.jsonl"
    now, lines, changes = 20, [], []
    for number, (event, passed) in enumerate(history):
        if event[0].startswith("edge") and event[1] == event[2]:
            continue
        now += passed - 1  # Sometimes a little out of order.
        lines.append(wire(event, now))
        changes.append((now, change(event, Stamp((BEGIN_MS + now) * 1000, "t", 0, number))))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    feed, schema = TrueFeed(path), dataclasses.replace(SCHEMA, ties=ties)
    for time in times:
        stop = next((i for i, (at, _) in enumerate(changes) if at > time), len(changes))
        vertices, edges = fold([x for _, x in changes[:stop]], ties)
        true = feed.at((BEGIN_MS + time) * 1000, schema, Declared())
        assert true.people == sorted(vertices)
        for name, texts in zip(
            SCHEMA.attributes, (*true.values, true.sensitive_texts), strict=True
        ):
            assert texts == [vertices[v].get(name) or "-" for v in true.people]
        assert {frozenset(true.people[x] for x in e) for e in true.edges.tolist()} == edges


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=30), st.integers(0, 30))
def test_a_feed_goes_on_from_an_imported_graph(tmp_path_factory, history, cut):
    """The graph at a cut, and the events after it, fold to what all events do."""
    folder = tmp_path_factory.mktemp("feed")
    lines = [wire(event, 1000 + i) for i, event in enumerate(kept(history))]
    for name, part in (("all", lines), ("later", lines[cut:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in part))
    whole = TrueFeed(folder / "all.jsonl")
    begun = whole.at((BEGIN_MS + 999 + cut) * 1000, SCHEMA, Declared())
    files = folder / "vertices.csv", folder / "edges.csv"
    people = zip(begun.people, *begun.values, begun.sensitive_texts, strict=True)
    ties = [[begun.people[v] for v in edge] for edge in begun.edges.tolist()]
    for file, header, rows in zip(
        files, ("id,group,health", "source,target"), (people, ties), strict=True
    ):
        file.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    later = TrueFeed(folder / "later.jsonl", files)
    for time in (999 + cut + len(lines), 999 + cut):
        expected, found = (
            feed.at((BEGIN_MS + time) * 1000, SCHEMA, Declared()) for feed in (whole, later)
        )
        assert found.people == expected.people
        assert [*found.values, found.sensitive_texts] == [
            *expected.values,
            expected.sensitive_texts,
        ]
        assert found.edges.tolist() == expected.edges.tolist()


def kept(history):
    """Return the events without ties that wait for an end: a graph in files has none of these."""
    present = set()
    for event in ((*e[:3], None) if e[0].startswith("edge") else e for e in history):
        if event[0] == "vertex.upsert":
            present.add(event[1])
        elif event[0] == "vertex.delete":
            present.discard(event[1])
        elif event[1] == event[2] or not present.issuperset(event[1:3]):
            continue
        yield event
