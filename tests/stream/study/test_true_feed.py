"""An audit's own fold of a feed against the naive one of the state's tests."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Schema
from ktsafe.sequence_audit import Declared
from state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from stream.study.true_feed import TrueFeed
from tests.state.naive_fold import fold

IDS = st.sampled_from("abcd")
SCHEMA = Schema(("group",), "health", frozenset({"x"}))
EVENTS = st.one_of(
    st.tuples(st.just("vertex.upsert"), IDS, st.sampled_from(["x", "y", None]), st.booleans()),
    st.tuples(st.just("vertex.delete"), IDS),
    st.tuples(st.just("edge.add"), IDS, IDS),
    st.tuples(st.just("edge.remove"), IDS, IDS),
)


def wire(event, time):
    """Return the event as a line of a feed."""
    kind, first, *rest = event
    line = {"type": kind, "time": time}
    if kind == "vertex.upsert":
        name = "group" if rest[1] else "health"
        return {**line, "id": first, "attributes": {name: rest[0]}}
    if kind == "vertex.delete":
        return {**line, "id": first}
    return {**line, "source": first, "target": rest[0]}


def change(event, stamp):
    """Return the event as the store takes it."""
    kind, first, *rest = event
    if kind == "vertex.upsert":
        return VertexUpsert(stamp, first, {"group" if rest[1] else "health": rest[0]})
    if kind == "vertex.delete":
        return VertexDelete(stamp, first)
    ends = sorted((first, rest[0]))
    return (EdgeAdd if kind == "edge.add" else EdgeRemove)(stamp, *ends)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.integers(0, 3)), max_size=30), st.lists(st.integers(0, 60)))
def test_a_feed_folds_to_the_same_graph(tmp_path_factory, history, times):
    """At every time, asked in any order, vertices, values and ties are those of the naive fold."""
    path = tmp_path_factory.mktemp("feed") / "feed.jsonl"
    now, lines, changes = 20, [], []
    for number, (event, passed) in enumerate(history):
        if event[0].startswith("edge") and event[1] == event[2]:
            continue
        now += passed - 1  # Sometimes a little out of order.
        lines.append(wire(event, now))
        changes.append((now, change(event, Stamp(now * 1000, "t", 0, number))))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    feed = TrueFeed(path)
    for time in times:
        stop = next((i for i, (at, _) in enumerate(changes) if at > time), len(changes))
        vertices, edges = fold([x for _, x in changes[:stop]])
        true = feed.at(time * 1000, SCHEMA, Declared())
        assert true.people == sorted(vertices)
        for name, texts in zip(
            SCHEMA.attributes, (*true.values, true.sensitive_texts), strict=True
        ):
            assert texts == [vertices[v].get(name) or "-" for v in true.people]
        assert {frozenset(true.people[x] for x in e) for e in true.edges.tolist()} == edges
