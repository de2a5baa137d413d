"""Defects planted in the product one by one; the histories must find each.

    python -m tests.histories.planted [--seeds 3000]

Prints how many seeds each took. A defect is a patch of the product's own code.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from ktsafe.connectors.base import TopicPartition
from ktsafe.connectors.errors import Unavailable
from ktsafe.sequence import SequenceEngine
from ktsafe.sequence.people.step_context import SequenceSpec
from ktsafe.stream.ingest.ingest import Ingest
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.release import publish
from ktsafe.stream.release.mechanism import DueRelease
from ktsafe.stream.release.publish import Publisher
from ktsafe.stream.release.snapshotter import Snapshotter
from ktsafe.stream.service.loop import Loop
from tests.histories.__main__ import told

Plant = tuple[Any, str, Callable[[Any], Any]]
"""What is patched: the object, the name in it, and what makes the stand-in of the real thing."""


def _acknowledged_first(real: Any) -> Any:
    def checkpoint(self: Ingest, cut: Any = None) -> None:
        held = {TopicPartition(*p): self._offsets[p] for p in self._held.partitions}
        with suppress(Unavailable):
            self._source.acknowledge(held)
        real(self, cut)

    return checkpoint


def _letters_last(real: Any) -> Any:
    def checkpoint(self: Ingest, cut: Any = None) -> None:
        letters, self._held.letters = self._held.letters, []
        real(self, cut)
        if letters:
            self._dead_letters.write(letters)

    return checkpoint


def _offsets_first(real: Any) -> Any:
    def checkpoint(self: Ingest, cut: Any = None) -> None:
        self._store.commit([], {p: self._position(p) for p in self._held.partitions})
        real(self, cut)

    return checkpoint


def _taken_for_sent(real: Any) -> Any:
    def finish(self: Publisher, publishing: Any) -> None:
        try:
            real(self, publishing)
        finally:
            if self._staged is not None:
                record, self._staged = self._staged, None
                self._confirm(record)

    return finish


def _at_start_only(real: Any) -> Any:
    seen: list[Loop] = []  # kept, so that no other one takes its address

    def take_up(self: Loop) -> None:
        if not any(each is self for each in seen):
            real(self)
            seen.append(self)

    return take_up


def _one_page_less(real: Any) -> Any:
    def pages(self: SequenceEngine) -> Iterator[tuple[str, bytes]]:
        found = dict(real(self))
        if len(found) > 1:
            del found[max(found)]
        return iter(found.items())

    return pages


def _without_margin(real: Any) -> Any:
    def of(*args: Any) -> Any:
        spec = real(*args)
        forming = dataclasses.replace(spec.forming, k=spec.params.group_size_min)
        return dataclasses.replace(spec, forming=forming, margin=0)

    return of


def _let_go_first(real: Any) -> Any:
    def checkpoint(self: Loop) -> bool:
        if self.stopping():
            self.store.close()
        return bool(real(self))

    return checkpoint


def _staged_is_forgotten(real: Any) -> Any:
    def recover(self: Publisher) -> None:
        real(self)
        self._staged = None

    return recover


def _returns(value: Any) -> Callable[[Any], Any]:
    return lambda _real: lambda *_args, **_kwargs: value


PLANTED: dict[str, Plant] = {
    "acknowledged before written": (Ingest, "checkpoint", _acknowledged_first),
    "dead letters after their offset": (Ingest, "checkpoint", _letters_last),
    "offsets committed before changes": (Ingest, "checkpoint", _offsets_first),
    "an unanswered release counts as sent": (Publisher, "_finish_publishing", _taken_for_sent),
    "digests at the sink not compared": (publish, "compare", _returns(None)),
    "a known release gets other bytes": (
        DueRelease,
        "drawn",
        lambda _real: lambda _self, _what, n=64: secrets.token_bytes(n),
    ),
    "erased persons return on recovery": (Snapshotter, "_erased", _returns([])),
    "mappings keep the deleted": (erasure, "blank_mappings", _returns(0)),
    "a withdrawn release is sent again": (Snapshotter, "is_withdrawn", _returns(False)),
    "a page of a sequence is not kept": (SequenceEngine, "pages", _one_page_less),
    "cohorts begin without their margin": (SequenceSpec, "of", _without_margin),
    "a pending cut waits for a start": (Loop, "_take_up_cut", _at_start_only),
    "the lock ends before the last checkpoint": (Loop, "checkpoint", _let_go_first),
    "what was staged is not taken up": (Publisher, "recover", _staged_is_forgotten),
}
"""By what is wrong."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Let the product have a defect meanwhile."""
    where, what, stand_in = PLANTED[name]
    with mock.patch.object(where, what, stand_in(getattr(where, what))):
        yield


def seeds_until_found(name: str, seeds_max: int, first: int = 1) -> tuple[int, str]:
    """Return the seed that finds a defect, and what is wrong there; -1 where none does."""
    with planted(name):
        for seed in range(first, first + seeds_max):
            if problems := told(seed).problems:
                return seed, problems[0]
    return -1, "not found"


def main() -> None:
    """Plant each defect, and print what it took to find it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3_000)
    parser.add_argument("--only", help="one of them")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    missed, names = 0, [given.only] if given.only else list(PLANTED)
    for name in names:
        seed, problem = seeds_until_found(name, given.seeds)
        missed += seed < 0
        print(f"{name}: seed {seed}: {problem}", flush=True)
    print(f"{len(names) - missed} of {len(names)} found")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
