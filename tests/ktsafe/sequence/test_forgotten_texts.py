"""Texts that nobody has leave the memory of a sequence, and no release shows that they did."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.graph import MISSING
from ktsafe.sequence import SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.codes import GONE
from ktsafe.sequence.sensitive_updates import _suppressed
from ktsafe.sequence.step_context import StepContext
from tests.ktsafe.sequence import naive
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

RARE = tuple(f"rare-{i}" for i in range(20))
KEY = b"a key"


class RareWorld(World):
    """Some newcomers have a value that few others have: it goes and comes back."""

    def newcomer(self) -> int:
        key = super().newcomer()
        if self.rng.random() < 0.4:
            values = list(self.people[key])
            values[int(self.rng.integers(3))] = RARE[int(self.rng.integers(len(RARE)))]
            self.people[key] = tuple(values)
        return key


def remembered(sequence: SequenceEngine) -> set[str]:
    """Return the rare texts in the pages of a sequence."""
    texts = json.loads(dict(sequence.pages())["meta"])["categories"]
    return {text for known in texts for text in known} & set(RARE)


@pytest.mark.parametrize("seed", range(2))
def test_forgetting_at_any_time_changes_no_release(seed: int) -> None:
    """A sequence that forgets makes the releases of one that does not."""
    check_forgetting(SequenceEngine, PARAMS, seed)


def check_forgetting(kind: type[SequenceEngine], params: PrivacyParams, seed: int) -> None:
    """One sequence forgets as it goes; a twin is read from pages, some of them after an erasure.

    Values come back by other people: all releases are the same, and
    after an erasure only texts are left that a living person has or a release shows.
    """
    world = RareWorld(40, 50, seed)
    options = SequenceOptions(effort="fast", birth_wait_max=1)
    one = kind.begin(SCHEMA, params, options, world.first, np.random.default_rng(0))
    one.forget_with(KEY)
    pages, dice = dict(one.pages()), np.random.default_rng(seed)
    n_forgotten = 0
    for number in range(7):
        changes = world.change(ties=2, joins=3, leaves=4, moves=1, ill=1)
        twin = kind.from_pages(pages)
        twin.forget_with(KEY)
        if dice.random() < 0.7:
            before = remembered(twin)
            alive = np.array(sorted(world.people), dtype=np.int64)
            twin.forget_texts(alive[~np.isin(alive, changes.joined)])
            shown = {value for values in naive.published(one)[0].values() for value in values}
            truth, keys = one.truth()
            stay = np.flatnonzero(np.isin(keys, alive)).tolist()
            had = {value for v in stay for value in truth.values(v).values()}
            assert remembered(twin) == before & (shown | had)
            n_forgotten += len(before - remembered(twin))
        for each in (one, twin):
            each.advance(changes, np.random.default_rng(number))
        assert naive.published(twin) == naive.published(one)
        assert dict(twin.pages()) == dict(one.pages())
        pages = dict(twin.pages())
    assert n_forgotten


def test_nobody_shows_a_value_that_nobody_has() -> None:
    """Where the missing value is sensitive another hides one, and no forgotten text."""
    world, rng = RareWorld(40, 50, 0), np.random.default_rng(0)
    options = SequenceOptions(effort="fast")
    sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, world.first, rng)
    sequence.forget_with(KEY)
    for _ in range(8):
        sequence.advance(world.change(joins=4, leaves=6), rng)
    texts = sequence.state.codes.sensitive
    values = frozenset({*SCHEMA.sensitive_values, MISSING})
    schema = dataclasses.replace(SCHEMA, sensitive_values=values)
    spec = dataclasses.replace(sequence.spec, schema=schema)
    context = StepContext(sequence.state, spec, rng, None)
    assert any(text.startswith(GONE) for text in texts)
    shown = texts[_suppressed(context)]
    assert not shown.startswith(GONE)
    assert shown not in values
