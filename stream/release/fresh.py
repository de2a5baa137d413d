"""Releases that are safe one by one (window = 1): each is made afresh, with fresh ids."""

from __future__ import annotations

import dataclasses

import numpy as np

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.generalization.named_values import named_values
from ktsafe.state.ledger import Ledger
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.certificates import in_order, verified
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.release.mechanism import Built, DueRelease, Passed, Progress
from ktsafe.stream.workers.pool import ONE_PER_CORE, Workers


@dataclasses.dataclass(frozen=True, slots=True)
class FreshReleases:
    """Implements `ktsafe.stream.release.mechanism.Mechanism` for window = 1.

    Randomness is drawn from the secret of the series, so a lost state makes the same bytes.

    Attributes
    ----------
    workers:
        They work on parts, and change the time alone.
    """

    params: PrivacyParams
    options: AnonymizeOptions
    workers: Workers = ONE_PER_CORE

    @property
    def guarantee(self) -> releases_write.Guarantee:
        """Each release is safe by itself."""
        return releases_write.Guarantee(1)

    def open(self, ledger: Ledger) -> None:
        """Nothing of former releases is needed."""

    def build(self, due: DueRelease, progress: Progress) -> Built:
        """Anonymize the graph of the cut, whatever was released before."""
        order = np.array(due.order(due.snapshot.ids), dtype=np.int64)
        with self.workers.open() as (executor, work):
            anonymized = anonymize(
                due.snapshot.graph.subgraph(order),
                self.params,
                rng=due.generator(),
                options=self.options,
                executor=executor,
                progress=progress,
            )
        seed = int.from_bytes(due.drawn("ids"), "big")
        ids = releases_write.random_ids(anonymized.graph.n_vertices, seed=seed)
        origin = anonymized.origin.astype(np.int64)
        origin = np.append(order, -1)[origin]
        schema, people = due.snapshot.graph.schema, due.snapshot.arrays.people_of_values()
        named = named_values(schema.groups, people, self.params.k)
        shift = anonymized.shift
        return Built(anonymized.graph, ids, origin, shift, work=work, lag=0, generalized=named)

    def judge(self, built: Built, release: Release, snapshot: GraphSnapshot) -> Passed:
        """Pass what the strict verifier passes, by the certificate where there is one."""
        del snapshot
        shift = None if built.shift is None else in_order(built.ids, built.shift, release.ids)
        verdict = verified(release, shift, workers=self.workers.n_threads)
        verdict.raise_if_unsafe()
        return Passed(verdict)

    def end_build(self, *, staged: bool) -> None:
        """Remember nothing."""
