"""Releases that are safe one by one (window = 1), each made from the one before.

Ids are fresh in every release all the same, so that its readers are not handed the link between
two of them. What the next release depends on is durable with the release that it belongs to, as in
`stream.release.linked`:

    last release as of i ──build──▶ as of i+1 ──settle(staged=True)──▶ durable, and kept
              ▲                         │
              └─────────────────────────┘ settle(staged=False)
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ktsafe import AnonymizeOptions, PrivacyParams, Schema
from ktsafe.incremental import IncrementalReleases, ReleaseCorrupted
from state.database import RESTORE
from state.errors import StateCorrupted
from state.ledger import Ledger, PendingCut
from state.ledger import Sequence as Series
from state.snapshot import GraphSnapshot
from stream.files import releases_write
from stream.files.releases_read import Release
from stream.process.workers import pool
from stream.release.fresh import FreshReleases
from stream.release.mechanism import Built, Progress
from stream.release.randomness import release_generator

INDEX_KEPT: Final = "index_locations_kept"
INDEX_COMPUTED: Final = "index_locations_computed"
PAGES_WRITTEN: Final = "pages_written"


class CarriedReleases:
    """Implements `Mechanism` for window = 1, with a memory of the last release.

    Parameters
    ----------
    schema:
        Of the releases; fixed within a sequence.
    options:
        Some that `IncrementalReleases.supports`.
    workers:
        Threads; they change the time alone.
    seed:
        Of the ids, fixed only for tests; None draws from the system's CSPRNG.
    """

    def __init__(
        self,
        schema: Schema,
        params: PrivacyParams,
        options: AnonymizeOptions,
        *,
        workers: int = 1,
        seed: int | None = None,
    ) -> None:
        self._schema = schema
        self._params = params
        self._options = options
        self._workers = workers
        self._seed = seed
        self._by_itself = FreshReleases(params, options, workers, seed)
        self._ledger: Ledger | None = None
        self._engine: IncrementalReleases | None = None
        self._saved: dict[str, bytes] = {}
        self._next_saved: dict[str, bytes] = {}

    @property
    def guarantee(self) -> releases_write.Guarantee:
        """Each release is safe by itself, and no more is said."""
        return self._by_itself.guarantee

    def open(self, ledger: Ledger) -> None:
        """Take up the release that was staged last.

        Raises
        ------
        StateCorrupted
            If its pages do not read back as written.
        """
        self._ledger = ledger
        self._engine = self._read_engine()

    def build(
        self,
        index: int,
        series: Series,
        cut: PendingCut,
        snapshot: GraphSnapshot,
        progress: Progress,
    ) -> Built:
        """Make the next release from the last one, or afresh where that costs less.

        The randomness follows from the ledger alone, so that a release that is built again after a
        crash comes out the same, but for its ids.
        """
        rng = release_generator(series.secret, index, cut.slot_us)
        if self._engine is None:
            self._engine = self._read_engine()
        with pool(self._workers) as executor:
            step = self._engine.release(
                snapshot.graph, snapshot.lives, rng, executor=executor, progress=progress
            )
        last = self._engine.last
        assert last is not None
        pages = self._changed_pages(self._engine.to_pages())
        seed = None if self._seed is None else self._seed + index
        origin = np.full(last.graph.n_vertices, -1, dtype=np.int64)
        origin[: len(last.keys)] = np.argsort(snapshot.lives)
        return Built(
            last.graph,
            releases_write.random_ids(last.graph.n_vertices, seed=seed),
            origin,
            pages=pages,
            figures={"incremental": dataclasses.asdict(step)},
            counts={
                INDEX_KEPT: step.upkeep.kept,
                INDEX_COMPUTED: step.upkeep.computed,
                PAGES_WRITTEN: len(pages),
            },
        )

    def judge(self, built: Built, release: Release, snapshot: GraphSnapshot) -> Mapping[str, Any]:
        """Pass what the strict verifier passes."""
        return self._by_itself.judge(built, release, snapshot)

    def settle(self, *, staged: bool) -> None:
        """Keep what the release is to the next one, or go back to what the ledger has."""
        if staged:
            self._saved = self._next_saved
        else:
            self._engine = None

    def _read_engine(self) -> IncrementalReleases:
        """Return the releases as the ledger has them."""
        assert self._ledger is not None
        pages = self._ledger.pages()
        self._saved = _digests(pages)
        try:
            return IncrementalReleases.from_pages(pages, self._schema, self._params, self._options)
        except ReleaseCorrupted as error:
            raise StateCorrupted("read the last release", "the ledger's pages", RESTORE) from error

    def _changed_pages(self, pages: Mapping[str, bytes]) -> dict[str, bytes | None]:
        """Return the pages that are not in the ledger like this, None for those that go."""
        self._next_saved = _digests(pages)
        changed: dict[str, bytes | None] = {
            name: page
            for name, page in pages.items()
            if self._saved.get(name) != self._next_saved[name]
        }
        return changed | dict.fromkeys(self._saved.keys() - pages.keys())


def _digests(pages: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: hashlib.blake2b(page).digest() for name, page in pages.items()}
