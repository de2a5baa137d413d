"""What trials of sequences read from private audits, and the yardstick of their cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, anonymize
from ktsafe.audit import cost_parts, trace


def private_audits(folder: Path) -> list[dict[str, Any]]:
    """Return the private audits in a folder, in the order of the releases."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/audit.json"))]


def promise_kept(audits: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of findings, all of which go beyond the promise; raises if one does not."""
    found = {violation["kind"] for audit in audits for violation in audit["audit"]["violations"]}
    assert all(kind.startswith("linked_") for kind in found), found
    return found


def fresh_cost(graph: AttributedGraph, params: PrivacyParams, seed: int = 1) -> int:
    """Return what a single `balanced` release of a graph costs (Equation 1)."""
    fresh = anonymize(graph, params, rng=np.random.default_rng(seed))
    return int(cost_parts(trace(graph, fresh.graph, fresh.origin), params)["total"])
