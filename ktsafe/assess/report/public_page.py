"""The public edition: for readers of a release, what is promised and what noise to expect.

It says three shares, to a tenth, and nothing else that is private. Before they are rounded, noise
is added to the counts behind them, so the truth of one tie hardly changes what is said. Why
that may be said at all: see "The public edition of a report" in ops/threat-model.md.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ktsafe.assess.report.content import ReleaseWithFigures
from ktsafe.assess.report.rendering import rendered
from ktsafe.assess.report.words import NOT_COVERED
from ktsafe.reader.readme import LEANINGS
from ktsafe.stream.files.releases_read import Manifest

COUNT_MIN: Final = 1_000
"""Of fewer ties or vertices no share is told: a tenth would be few people."""
NOISE: Final = 10.0
"""Scale of the Laplace noise of each count: one tie more or less is a tenth of it."""
STEPS: Final = 10
HOW_TO_READ: Final = (
    "Do not look anybody up. A tie that is shown may be invented, and a true one hidden.",
    "Count over many people. Figures of many are nearer to the truth than figures of a few.",
    (
        "For the number of true ties, multiply those shown by the share of them that is true, and "
        "divide by the share of true ties that are shown. Both differ between groups of people, so "
        "do not do that for the ties between two classes."
    ),
    *(f"{what}: {instead}" for what, instead in LEANINGS),
)


def public_content(
    told: ReleaseWithFigures, *, rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """Return what the public edition says of a release, JSON-ready.

    Parameters
    ----------
    rng:
        Draws the noise; None: unpredictable, as it must be where this is published.
    """
    draws = np.random.default_rng(secrets.randbits(128)) if rng is None else rng
    ties, people = told.audit.usefulness.edges, told.audit.usefulness.vertices
    both = ties.shared + draws.laplace(scale=NOISE)
    true = ties.true + draws.laplace(scale=NOISE)
    persons = people.shared + draws.laplace(scale=NOISE)
    return {
        **told.heading("public"),
        "size": {"vertices": people.released, "edges": ties.released},
        "noise": {
            "shown_ties_true": _tenths(both, ties.released),
            "true_ties_shown": _tenths(both, true),
            "vertices_people": _tenths(persons, people.released),
        },
        "how_to_read": [*HOW_TO_READ, *_not_shown(told.manifest)],
        "not_covered": list(NOT_COVERED),
    }


def _not_shown(manifest: Manifest) -> list[str]:
    """Return how many pairs of classes the manifest lists as dark."""
    if manifest.dark is None or manifest.classes is None:
        return []
    n = len(manifest.classes)
    return [f"Not shown here are {len(manifest.dark):,} of {n * (n + 1) // 2:,} pairs of classes."]


def page(content: Mapping[str, Any]) -> str:
    """Return the page of the public edition."""
    noise = content["noise"]
    rows = [
        ("ties shown that are true", _told(noise["shown_ties_true"])),
        ("true ties that are shown", _told(noise["true_ties_shown"])),
        ("vertices that are people", _told(noise["vertices_people"])),
    ]
    return rendered("public.html", content=content, rows=rows)


def _tenths(part: float, whole: float) -> int | None:
    """Return how many tenths a share is; None where the whole is too small to tell."""
    if whole < COUNT_MIN:
        return None
    return round(STEPS * min(max(part / whole, 0.0), 1.0))


def _told(tenths: int | None) -> str:
    if tenths is None:
        return "not told"
    if tenths in {0, STEPS}:
        return "hardly any" if tenths == 0 else "nearly all"
    return f"{tenths} in {STEPS}"
