"""Releases that are safe one by one (window = 1): each is made afresh, with fresh ids."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.state.ledger import Ledger
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.certificates import in_order, verified
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.release.mechanism import Built, DueRelease, Progress
from ktsafe.stream.workers.pool import ONE_PER_CORE, Workers

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict


@dataclasses.dataclass(frozen=True, slots=True)
class FreshReleases:
    """Implements `ktsafe.stream.release.mechanism.Mechanism` for window = 1.

    Attributes
    ----------
    workers:
        They work on parts, and change the time alone.
    seed:
        Fixed only for tests; None draws from the system's CSPRNG.
    """

    params: PrivacyParams
    options: AnonymizeOptions
    workers: Workers = ONE_PER_CORE
    seed: int | None = None

    @property
    def guarantee(self) -> releases_write.Guarantee:
        """Each release is safe by itself."""
        return releases_write.Guarantee(1)

    def open(self, ledger: Ledger) -> None:
        """Nothing of former releases is needed."""

    def build(self, due: DueRelease, progress: Progress) -> Built:
        """Anonymize the graph of the cut, whatever was released before."""
        seed = secrets.randbits(128) if self.seed is None else [self.seed, due.index]
        with self.workers.open() as (executor, work):
            anonymized = anonymize(
                due.snapshot.graph,
                self.params,
                rng=np.random.default_rng(seed),
                options=self.options,
                executor=executor,
                progress=progress,
            )
        ids = releases_write.random_ids(
            anonymized.graph.n_vertices, seed=None if self.seed is None else self.seed + due.index
        )
        origin = anonymized.origin.astype(np.int64)
        return Built(anonymized.graph, ids, origin, anonymized.shift, work=work, lag=0)

    def judge(
        self, built: Built, release: Release, snapshot: GraphSnapshot
    ) -> tuple[Verdict, Mapping[str, Any]]:
        """Pass what the strict verifier passes, by the certificate where there is one."""
        del snapshot
        shift = None if built.shift is None else in_order(built.ids, built.shift, release.ids)
        verdict = verified(release, shift, workers=self.workers.n_threads)
        verdict.raise_if_unsafe()
        return verdict, {}

    def settle(self, *, staged: bool) -> None:
        """Remember nothing."""
