"""Things keep their numbers, however they are held, and whatever comes after them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.audit.sequence import audited_release
from ktsafe.audit.sequence.audited_release import SEAL_BYTES, AuditedRelease, CodedTexts, Numbering
from ktsafe.errors import InvalidGraph
from ktsafe.params import PrivacyParams

KEY = b"k" * 32

alike = st.sampled_from(
    ["00000000000000ab", "00000000000000AB", "00000000000000aB", "ab00000000000000"]
)
"""Texts of 16 digits that are read as few numbers: another text is another thing."""
plain_ids = alike | st.integers(0, 2**64 - 1).map("{:016x}".format)
odd_texts = st.sampled_from(
    [
        "",
        "B",
        " 0000000000000ab",
        "00 000000000000a",
        "0000000000000ag",
        "é" * 16,
    ]
)
wholes = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
odd_wholes = st.sampled_from([True, False, 2**63, -(2**70)])
batches = st.one_of(
    st.lists(st.lists(plain_ids | st.sampled_from(["0" * 16, "f" * 16]), max_size=12), max_size=5),
    st.lists(st.lists(wholes, max_size=12), max_size=5),
    st.lists(st.lists(plain_ids | odd_texts | wholes | odd_wholes, max_size=12), max_size=5),
    st.lists(st.lists(plain_ids, max_size=5) | st.lists(odd_texts, max_size=5), max_size=5),
)


@pytest.fixture(autouse=True, scope="module", params=[2, audited_release.THINGS_AT_ONCE])
def things_at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let ids be read and made by pairs, and at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audited_release, "THINGS_AT_ONCE", request.param)
        yield


class Naive:
    """A dictionary, and a keyed hash for each of its things."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def of(self, things: list[Hashable]) -> list[int]:
        return [self.numbers.setdefault(thing, len(self.numbers)) for thing in things]


@given(batches)
def test_every_distinct_thing_has_a_number_in_the_order_of_appearance(
    batches: list[list[Hashable]],
) -> None:
    """Whatever the things, and whatever comes after them."""
    numbering, naive = Numbering(), Naive()
    for things in [*batches, *batches]:
        assert numbering.of(things).tolist() == naive.of(things)
        assert len(numbering) == len(naive.numbers)


@given(batches, st.integers(0, 5))
def test_a_numbering_that_was_sealed_knows_what_it_knew(
    batches: list[list[Hashable]], when: int
) -> None:
    """Though it was told only keyed hashes."""
    numbering, naive = Numbering(), Naive()
    for i, things in enumerate(batches):
        if i == when:
            numbering = Numbering.of_sealed(numbering.sealed(KEY), KEY)
        assert numbering.of(things).tolist() == naive.of(things)
    seals = numbering.sealed(KEY)
    assert len(seals) == SEAL_BYTES * len(naive.numbers)
    again = Numbering.of_sealed(seals, KEY)
    assert again.of(reversed(naive.numbers)).tolist() == list(reversed(naive.numbers.values()))
    assert again.sealed(KEY) == seals


def test_seals_do_not_depend_on_how_things_are_held() -> None:
    """As integers, in a dictionary, or in a dictionary since something else came."""
    ids = [f"{number:016x}" for number in (7, 2**63, 1)]
    plain, mixed = Numbering(ids), Numbering([*ids, "B"])
    assert mixed.sealed(KEY)[: 3 * SEAL_BYTES] == plain.sealed(KEY)
    plain.of(["B"])
    assert plain.sealed(KEY) == mixed.sealed(KEY)


def test_whole_numbers_are_the_same_from_a_list_and_from_an_array() -> None:
    """Of any width; flags are the numbers that they are equal to."""
    numbering = Numbering([5, -1])
    assert numbering.of(np.array([-1, 9, 5], dtype=np.int32)).tolist() == [1, 2, 0]
    assert numbering.of([True, 9, 1]).tolist() == [3, 2, 3]
    assert numbering.of(np.array([], dtype=np.int64)).tolist() == []


def test_columns_of_few_texts_are_numbered_by_their_texts() -> None:
    """Each text is asked for once."""
    column = CodedTexts(["B", "X"], np.array([1, 1, 0]))
    assert Numbering(["X"]).of(column).tolist() == [0, 0, 1]


def test_ids_that_are_read_as_one_number_are_two() -> None:
    """A release may have both."""
    ids = ["00000000000000ab", "00000000000000AB"]
    flags = np.zeros(2, dtype=np.bool_)
    codes, edges = np.zeros((2, 0), dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    assert AuditedRelease("1", "s", PrivacyParams(k=2), ids, [], codes, flags, edges).ids == ids


@pytest.mark.parametrize("ids", [["0" * 16, "1" * 16, "0" * 16], ["B", "X", "B"]])
def test_an_id_that_is_there_twice_is_refused(ids: list[str]) -> None:
    """Of plain ids and of others."""
    flags = np.zeros(3, dtype=np.bool_)
    codes, edges = np.zeros((3, 0), dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    with pytest.raises(InvalidGraph, match="twice"):
        AuditedRelease("1", "s", PrivacyParams(k=2), ids, [], codes, flags, edges)
