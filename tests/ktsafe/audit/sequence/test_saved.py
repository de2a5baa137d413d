"""An auditor that was saved goes on as one that never was, and its memory has a bound."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import (
    Promise,
    SequenceAuditor,
    UnknownSavedState,
    change_history,
    profiles,
    saved_state,
)
from ktsafe.audit.sequence import continuity as persistence
from ktsafe.audit.sequence.continuity import EdgeAges
from tests.ktsafe.audit.sequence.naive_sequence import histories, small_params
from tests.ktsafe.audit.sequence.sticky import PARAMS, sticky

KEY = bytes(range(32))


def bounded():
    return SequenceAuditor(Promise("all"), examples_max=100, keeps_ids=False)


def resumed(auditor):
    """Return a new auditor that knows what this one had learned."""
    other = bounded()
    other.resume_from(dict(auditor.pages(KEY)), KEY)
    return other


@pytest.fixture
def tight(monkeypatch):
    """Let whatever is dropped or merged at some size be so at once."""
    monkeypatch.setattr(change_history, "MERGE_FROM", 0)
    monkeypatch.setattr(profiles, "SPARE_LOCATIONS", -1000)


@pytest.mark.usefixtures("tight")
@settings(max_examples=60, deadline=None)
@given(histories(relink=True), small_params(), st.data())
def test_saved_at_any_release_it_finds_what_one_that_was_never_saved_finds(history, params, data):
    """Violations, how they were decided, and all figures, at every later release."""
    straight, other = SequenceAuditor(Promise("all"), examples_max=100), bounded()
    plain = bounded()
    for i, release in enumerate(history):
        if data.draw(st.booleans()):
            other = resumed(other)
        given_one = release.audited(i, params)
        expected = plain.extend(given_one).told()
        assert other.extend(given_one).told() == expected
        assert straight.extend(given_one).told() == expected


@pytest.mark.usefixtures("tight")
def test_beside_the_truth_ages_and_waits_go_on_too():
    """A safe sequence, judged with its true graphs, saved and read back at each release."""
    plain, other = bounded(), bounded()
    for i, step in enumerate(sticky(12)):
        one = step.release.audited(i, PARAMS)
        findings = plain.extend(one, step.truth())
        assert findings.is_safe
        other = resumed(other)
        assert other.extend(one, step.truth()).told() == findings.told()
    assert dict(other.pages(KEY)) == dict(resumed(other).pages(KEY))


def test_a_long_sequence_takes_no_more_than_a_short_one(monkeypatch):
    """Where changes recur, 60 releases are saved in hardly more bytes than 20."""
    monkeypatch.setattr(change_history, "MERGE_FROM", 0)
    monkeypatch.setattr(persistence, "GONE_MAX", 10)
    auditor, sizes = bounded(), []
    for i, step in enumerate(sticky(60)):
        assert auditor.extend(step.release.audited(i, PARAMS), step.truth()).is_safe
        sizes.append(sum(map(len, dict(auditor.pages(KEY)).values())))
    assert sizes[59] < 1.1 * sizes[19]


def test_ids_of_releases_are_not_kept_and_repeat_never():
    """Of releases that are not kept an id has to be greater than all before it, saved or not."""
    first = sticky(1)[0].release
    auditor = bounded()
    for number in range(12):
        assert auditor.extend(first.audited(number, PARAMS)).is_safe
    assert auditor.n_releases == resumed(auditor).n_releases == 12
    pages = dict(auditor.pages(KEY))
    assert len(pages["_continuity/_release_ids"]) < 20
    for number in (11, 5, 12):
        other = bounded()
        other.resume_from(pages, KEY)
        found = other.extend(first.audited(number, PARAMS)).violations
        assert [each.kind for each in found] == ["release_repeated"] * (number < 12)
        assert other.n_releases == 12 + (number == 12)


def test_what_is_saved_names_nobody():
    """Neither ids, nor people, nor values are in it, and no other key reads it."""
    auditor = bounded()
    for i, step in enumerate(sticky(3)):
        auditor.extend(step.release.audited(i, PARAMS), step.truth())
    pages = dict(auditor.pages(KEY))
    data = b"".join(pages.values())
    for step in sticky(1):
        for text in (*step.release.tuples, *filter(None, step.release.owners.values())):
            assert text.encode() not in data
    with pytest.raises(UnknownSavedState):
        bounded().resume_from(pages, KEY[::-1])


def test_what_another_version_saved_is_not_read(monkeypatch):
    """Another format, another set of attributes, or damage is refused, and nothing is guessed."""
    auditor = bounded()
    auditor.extend(sticky(1)[0].release.audited(0, PARAMS))
    pages = dict(auditor.pages(KEY))
    for name, page in pages.items():
        for damaged in (
            {other: pages[other] for other in pages if other != name},
            pages | {name: page[:-1]},
            pages | {f"{name} too": page},
        ):
            with pytest.raises(UnknownSavedState):
                bounded().resume_from(damaged, KEY)
    monkeypatch.setattr(saved_state, "FORMAT", 2)
    with pytest.raises(UnknownSavedState):
        bounded().resume_from(pages, KEY)


def test_what_has_no_certificate_is_unsafe():
    """All are undecided, of whom k is not refuted."""
    params = PrivacyParams(k=2, alpha="1/2", t=1, epsilon=10)
    steps = sticky(2)
    for v in steps[1].release.sensitive:
        steps[1].release.sensitive[v] = v.startswith("c0") or v == "c3m1"
    auditor = bounded()
    assert auditor.extend(steps[0].release.audited(0, params)).is_safe
    found = auditor.extend(steps[1].release.audited(1, params))
    assert {v.kind for v in found.violations} >= {"undecided"}
    assert found.checked.certificate is False


def test_a_tie_that_is_gone_for_long_is_forgotten(monkeypatch):
    """Its age begins anew; that of one with a shorter gap goes on."""
    monkeypatch.setattr(persistence, "GONE_MAX", 3)
    ages, one, both = EdgeAges(), np.array([1]), np.array([1, 2])
    flags = np.array([True, False])
    for keys in (both, both, one, one):
        ages.add(keys, flags[: len(keys)])
    assert ages.copy().add(both, flags).age_auc == 1.0
    assert len(ages.ever) == 2
    ages.add(one, flags[:1])
    assert len(ages.ever) == 1


POWERS = [2**bits for bits in (7, 8, 15, 31, 32, 52)]
NEAR_LIMITS = [0, 1, -1, *(sign * n + more for n in POWERS for sign in (1, -1) for more in (-1, 0))]


@given(
    numbers=st.lists(st.sampled_from(NEAR_LIMITS), max_size=6),
    is_ascending=st.booleans(),
    width=st.sampled_from([1, 2]),
)
def test_numbers_are_read_back_as_they_were(numbers, is_ascending, width):
    """Each of its own type, whatever its size, in a table or not; it can be written to."""
    values = sorted(numbers) if is_ascending else numbers
    whole = np.array(values, dtype=np.int64)
    table = np.repeat(whole, width).reshape(-1, width) if width > 1 else whole
    told = msgspec.msgpack.decode(msgspec.msgpack.encode(saved_state._packed(table, KEY)))
    found = saved_state._unpacked(told, KEY)
    assert found.dtype == table.dtype
    assert found.shape == table.shape
    assert (found == table).all()
    assert found.flags.writeable


def test_what_differs_little_takes_few_bytes():
    """Keys of edges take 5 bytes each, small numbers one; flags and others stay as they are."""
    low = np.repeat(np.arange(1000), 10)
    keys = np.sort(low << 32 | np.random.default_rng(0).integers(0, 2**30, 10_000))
    for array, n_bytes in ((keys, 50_000), (low % 100, 10_000), (low > 500, 10_000)):
        page = msgspec.msgpack.encode(saved_state._packed(array, KEY))
        assert n_bytes <= len(page) < n_bytes + 100
