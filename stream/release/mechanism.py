"""Values that the snapshotter and the mechanism (`linked`) exchange.

    build ─▶ staged bytes ─▶ judge ─▶ ledger STAGED ─▶ end_build(staged=True)
    └─ anything wrong ──▶ end_build(staged=False)

Figures may be added to `Built`, with a default. What `DueRelease.drawn` gives settles the bytes of
a release: with other names or lengths of draws a lost state cannot be made again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph
from ktsafe.audit import Traced
from ktsafe.audit.changes_by_age import ToldFreshness
from ktsafe.audit.freshness import Differences
from ktsafe.audit.sequence import Declared
from ktsafe.audit.sequence.windows import SequenceAudit
from ktsafe.graph.numbering import Ids
from ktsafe.graph.schemas import Named
from ktsafe.state.ledger import NamedPages, PendingCut, ReleaseRecord, SequenceRecord
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.statistics import TrueChanges
from ktsafe.stream.files.audit_model import SequenceCost
from ktsafe.stream.files.releases_write import Planned
from ktsafe.stream.ingest.events import TIME_US_MAX
from ktsafe.stream.process.pool import WorkInParts
from ktsafe.stream.slots import rfc3339

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict


@dataclasses.dataclass(frozen=True, eq=False)
class DueRelease:
    """A release that is to be made.

    Which one, of which sequence, and of which true graph.

    `before` is the release before in the same sequence, if there is one.
    """

    index: int
    series: SequenceRecord
    cut: PendingCut
    snapshot: GraphSnapshot
    before: ReleaseRecord | None = None

    def later(self, releases: int | None) -> str | None:
        """Return when so many releases are due, RFC 3339; None if unknown.

        Each is taken to come as long after the other as this one after the one before.
        """
        if releases is None or self.before is None:
            return None
        now = self.cut.slot_us
        return rfc3339(min(now + releases * (now - self.before.slot_us), TIME_US_MAX))

    def drawn(self, what: str, n_bytes: int = 64) -> bytes:
        """Return bytes for one purpose.

        The same after a crash, secret as the ledger is.

        In a sequence of an early version, which has no secret, they are drawn anew each time.
        """
        if not self.series.secret:
            return secrets.token_bytes(n_bytes)
        about = f"{what}{self.index}/{self.cut.slot_us}".encode()
        key = bytes.fromhex(self.series.secret)
        return hashlib.blake2b(about, key=key, digest_size=n_bytes).digest()

    def generator(self) -> np.random.Generator:
        """Return the generator of the release, from `drawn`."""
        return np.random.default_rng(int.from_bytes(self.drawn(""), "big"))

    def order(self, people: Sequence[str]) -> list[int]:
        """Return people's positions in an order independent of arrival.

        It follows from their ids alone, whatever the order in which partitions were read.
        """
        key = self.drawn("order")
        ranks = [
            hashlib.blake2b(name.encode(), key=key, digest_size=16).digest() for name in people
        ]
        return sorted(range(len(ranks)), key=ranks.__getitem__)


@dataclasses.dataclass(frozen=True, eq=False)
class Built:
    """A release that was made and is not written yet.

    Attributes
    ----------
    traced:
        The release beside the snapshot.
    ids:
        The published id of every vertex.
    value_at:
        int64, shape (n,): the vertex that shows the sensitive value of each; None: its own.
    pages:
        What the mechanism must remember from now on, if this becomes a release, made when it is
        asked for.
    sequence, declared, vacated:
        Private figures, see `ktsafe.stream.files.audit_model.Audit`.
    follow:
        Counts how it follows the truth, and what changed since the release before, if there is one;
        once it is judged, which counts the true ties.
    counts:
        What of them the operator's metrics show.
    work:
        What was done in parts, if it was counted.
    lag, age, planned, generalized:
        See `ktsafe.stream.files.releases_write.ReleaseHeader`.
    changes:
        What began and ended in the true graph since the release before; None if nobody counted.
    n_ties_of_turn:
        Counts the true ties between classes that show nothing by their turn.
    """

    traced: Traced
    ids: Ids
    sequence: SequenceCost
    declared: Declared
    vacated: list[str]
    follow: Callable[[], tuple[ToldFreshness, Differences | None]]
    value_at: NDArray[np.int64] | None = None
    pages: NamedPages = ()
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    work: WorkInParts | None = None
    lag: int | None = None
    age: int | None = None
    planned: Sequence[Planned] | None = None
    changes: TrueChanges | None = None
    generalized: Named = dataclasses.field(default_factory=dict)
    n_ties_of_turn: Callable[[], int] = lambda: 0

    @property
    def graph(self) -> AttributedGraph:
        """The released graph."""
        return self.traced.released


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
    """A release that may be published, and what was found of it.

    Attributes
    ----------
    verdict:
        The strict verifier's.
    audit:
        What the auditor of the sequence found.
    pages:
        What must be remembered of it, if this becomes a release, as in `Built`.
    """

    verdict: Verdict
    audit: SequenceAudit
    pages: NamedPages = ()
