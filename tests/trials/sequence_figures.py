"""What trials of sequences read from private audits, and the yardstick of their worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ktsafe.stream.config.settings import Settings
from ktsafe.stream.service import assembly
from ktsafe.stream.study.worth import afresh


def private_audits(folder: Path) -> list[dict[str, Any]]:
    """Return the private audits in a folder, in the order of the releases."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/audit.json"))]


def promise_kept(audits: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of findings, all of which go beyond the promise; raises if one does not."""
    found = {violation["kind"] for audit in audits for violation in audit["audit"]["violations"]}
    assert all(kind.startswith("linked_") for kind in found), found
    return found


WORTH: Final = "cost/E last, worst | precision, recall, F1 of ties | people shown, real | afresh"
"""Head of what `worth_of` says: `afresh` is cost/E and F1 of a single release in the end."""


def worth_of(audits: list[dict[str, Any]], settings: Settings) -> str:
    """Return what the last release is worth; raises if a release costs more than its true ties."""
    store = assembly.open_store(settings)
    try:
        graph = store.snapshot().graph
    finally:
        store.close()
    found = [audit["usefulness"]["edges"] for audit in audits]
    assert all(edges["cost"] <= edges["true"] for edges in found), "dearer than no edge at all"
    shares = [edges["cost_share"] for edges in found if edges["true"]] or [0.0]
    last, people = found[-1], audits[-1]["usefulness"]["vertices"]
    fresh = afresh(graph, settings.params)["edges"]
    return (
        f"{_text(last['cost_share'])}, {max(shares):.2f} | "
        f"{_text(last['precision'])}, {_text(last['recall'])}, {_text(last['f1'])} | "
        f"{_text(people['recall'])}, {_text(people['precision'])} | "
        f"{_text(fresh['cost_share'])}, {_text(fresh['f1'])}"
    )


def _text(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"
