"""What trials of sequences read from private audits, and their worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from ktsafe.assess.generalization.quick_release import afresh
from ktsafe.audit.changes_by_age import RECENT
from ktsafe.stream.config.settings import Settings
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.release_figures import worth_over_time
from ktsafe.stream.service import assembly


def private_audits(folder: Path) -> list[dict[str, Any]]:
    """Return the private audits in a folder, in the order of the releases."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/audit.json"))]


def promise_kept(audits: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of findings, all of which go beyond the promise; raises if one does not."""
    found = {violation["kind"] for audit in audits for violation in audit["audit"]["violations"]}
    assert all(kind.startswith("linked_") for kind in found), found
    return found


WORTH: Final = (
    "F1 of ties mean, worst, latest graph | new ties after 4, 8 releases over older ones | "
    "ended ties still shown after 8 | newcomers shown | cost/E last, worst | precision, recall, F1 "
    "of ties, last | people shown, real | afresh"
)
"""Head of what `worth_of` says.

Figures by age are means over the releases that have them, `afresh` is cost/E and F1 of a single
release in the end.
"""


def worth_of(audits: list[dict[str, Any]], settings: Settings) -> str:
    """Return what a sequence is worth; raises if a release costs more than its true ties."""
    store = assembly.open_store(settings)
    try:
        graph = store.snapshot().graph
    finally:
        store.close()
    found = [audit["usefulness"]["edges"] for audit in audits]
    assert all(edges["cost"] <= edges["true"] for edges in found), "dearer than no edge at all"
    shares = [edges["cost_share"] for edges in found if edges["true"]] or [0.0]
    last, people = found[-1], audits[-1]["usefulness"]["vertices"]
    fresh = afresh(graph, settings.params).edges
    mean = worth_over_time([_worth(audit) for audit in audits])
    return (
        f"{_text(mean['f1']['mean'])}, {_text(mean['f1']['worst'])}, "
        f"{_text(mean['latest']['mean'])} | {_text(mean['new_4']['mean'])}, "
        f"{_text(mean['new_8']['mean'])} | {_text(mean['ended_8']['mean'])} | "
        f"{_text(_worth(audits[-1])['newcomers'])} | "
        f"{_text(last['cost_share'])}, {max(shares):.2f} | "
        f"{_text(last['precision'])}, {_text(last['recall'])}, {_text(last['f1'])} | "
        f"{_text(people['recall'])}, {_text(people['precision'])} | "
        f"{_text(fresh.cost_share)}, {_text(fresh.f1)}"
    )


def _worth(figures: dict[str, Any]) -> dict[str, float | None]:
    """Return the figures of a release that are followed."""
    audit = msgspec.convert(figures, Audit)
    fresh = audit.freshness
    assert fresh is not None
    return {
        "f1": audit.usefulness.edges.f1,
        "latest": fresh.latest.f1,
        "new_4": fresh.ties["4"].published.ratio,
        "new_8": fresh.ties["8"].published.ratio,
        "ended_8": fresh.ended["8"].shown,
        "newcomers": fresh.newcomers[RECENT].shown,
    }


def _text(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"
