"""The registers of one vertex, and the order of stamps."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ktsafe.state.changes import Stamp
from ktsafe.state.registers import Mark, Origins, VertexRecord

STAMPS = st.builds(
    Stamp,
    st.integers(0, 3),
    st.sampled_from(["a", "ab", "b"]),
    st.integers(0, 2),
    st.integers(0, 3),
)


@given(stamps=st.lists(STAMPS, min_size=2, max_size=6))
def test_marks_are_ordered_like_the_stamps_they_stand_for(stamps: list[Stamp]) -> None:
    """Whatever the order in which topics and partitions are first seen."""
    origins = Origins()
    marks = [(s.time_us, origins.number(s.topic, s.partition), s.offset) for s in stamps]
    for (one, mark_one), (two, mark_two) in itertools.product(
        zip(stamps, marks, strict=True), repeat=2
    ):
        assert origins.later(mark_one, mark_two) == (one > two)


def test_origins_keep_their_numbers() -> None:
    """An origin has the number it got first, also when the list is read back."""
    origins = Origins()
    assert [origins.number("t", p) for p in (1, 0, 1)] == [0, 1, 0]
    again = Origins(origins.names)
    assert [again.number("t", p) for p in (0, 1, 2)] == [1, 0, 2]


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, Mark, dict[int, str | None]]]:
    """Draw upserts and deletes of one vertex at distinct times, in any order."""
    times = draw(st.lists(st.integers(0, 20), unique=True, max_size=8))
    return [
        (
            draw(st.sampled_from(["upsert", "upsert", "delete"])),
            (time, 0, time),
            draw(st.dictionaries(st.integers(0, 2), st.sampled_from(["x", "y", None]))),
        )
        for time in times
    ]


def merged(drawn: list[tuple[str, Mark, dict[int, str | None]]]) -> VertexRecord:
    record, origins = VertexRecord(), Origins([("t", 0)])
    for kind, mark, values in drawn:
        if kind == "upsert":
            record.upsert(mark, values, origins)
        else:
            record.delete(mark, origins)
    return record


@given(drawn=steps(), order=st.randoms(use_true_random=False))
def test_registers_do_not_depend_on_the_order(
    drawn: list[tuple[str, Mark, dict[int, str | None]]], order: object
) -> None:
    """Equal changes leave equal registers, so stores can be compared bit by bit."""
    shuffled = list(drawn)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merged(shuffled) == merged(drawn)


def test_merging_says_whether_anything_changed() -> None:
    """Redelivered and covered changes report no change, so nothing is written for them."""
    record, origins = VertexRecord(), Origins([("t", 0)])
    assert record.upsert((5, 0, 5), {0: "x"}, origins)
    assert not record.upsert((5, 0, 5), {0: "x"}, origins)
    assert not record.upsert((4, 0, 4), {0: "y"}, origins)
    assert record.upsert((3, 0, 3), {1: "z"}, origins)
    assert record.delete((4, 0, 4), origins)
    assert not record.delete((4, 0, 4), origins)
    assert not record.upsert((3, 0, 3), {1: "z"}, origins)
    assert record.attributes == {0: ((5, 0, 5), "x")}
