"""The independent auditor, which knows nothing of cohorts, finds these sequences safe."""

from __future__ import annotations

import numpy as np

from ktsafe.audit.sequence import AuditedRelease, Promise, SequenceAuditor
from ktsafe.sequence import SequenceEngine
from tests.ktsafe.sequence.world import PARAMS, World

SLOTS = ({"ties": 4}, {"ties": 2, "joins": 6}, {"leaves": 3, "ill": 2}, {"moves": 4, "joins": 4})


def audited(sequence: SequenceEngine) -> AuditedRelease:
    """Return the current release as the auditor reads it."""
    released = sequence.released()
    graph = released.graph
    return AuditedRelease(
        release_id=str(sequence.release),
        sequence_id="one",
        params=PARAMS,
        ids=[str(i) for i in released.ids.tolist()],
        categories=graph.categories[:-1],
        codes=graph.codes[:, :-1].astype(np.int64),
        is_sensitive=graph.is_sensitive,
        edges=graph.edges.astype(np.int64),
        owners=[None if key < 0 else key for key in released.keys.tolist()],
        value_at=released.value_at,
        sensitive_texts=[graph.values(v)[graph.schema.sensitive] for v in range(graph.n_vertices)],
    )


def test_the_auditor_confirms_guarantee_and_cover() -> None:
    """After every release: w = all, and every visible change covered."""
    world, rng = World(150, 220, 11), np.random.default_rng(0)
    sequence = world.begin()
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    assert auditor.extend(audited(sequence)).is_safe
    for i in range(8):
        sequence.advance(world.change(**SLOTS[i % len(SLOTS)]), rng)
        findings = auditor.extend(audited(sequence))
        assert findings.is_safe, findings.told()
    assert sequence.figures().moves["pairs_raised"] > 0
