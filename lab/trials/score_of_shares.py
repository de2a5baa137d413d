"""What the score of the report says of a release that shows a random share of the ties alone.

    python -m lab.trials.score_of_shares DATA [--only cora,fb-reed98] [--seed 0]

Everybody is shown as in truth, and no tie is inserted. A score that means something is 0 without
ties, at most .1 with a hundredth of them, and rises with each further tenth.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.report.score import score
from ktsafe.assess.utility import utility_figures
from ktsafe.audit import audit_traced, trace
from ktsafe.stream.files.audit_model import Audit
from lab.benchmarks.bench_anonymize import from_folder

NETWORKS = "cora,fb-reed98,ego-facebook,ciao,wiki-vote"


def main() -> None:
    """Print a line per network."""
    parser = argparse.ArgumentParser(description="The score by the share of ties that is shown.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default=NETWORKS)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    wanted = a.only.split(",")
    for name, true in from_folder(a.data):
        if name not in wanted:
            continue
        none, agreement = judged(true, 0.0, a.seed)
        hundredth, _ = judged(true, 0.01, a.seed)
        tenths = [none, *(judged(true, tenth / 10, a.seed)[0] for tenth in range(1, 11))]
        rises = all(low < high for low, high in itertools.pairwise(tenths))
        print(
            f"{name}: no ties {none:.3f} (communities of singletons {agreement}), "
            f"1% {hundredth:.3f}, by tenths {' '.join(f'{each:.3f}' for each in tenths)}, "
            f"rises {rises}",
            flush=True,
        )


def judged(true: AttributedGraph, share: float, seed: int) -> tuple[float, Any]:
    """Return the score of a release that shows this share, and the part of communities."""
    order = np.random.default_rng(seed).permutation(true.n_edges)
    kept = true.edges[np.sort(order[: round(share * true.n_edges)])]
    shown = AttributedGraph.from_codes(true.schema, true.categories, true.codes, kept)
    traced = trace(true, shown, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(seed))
    audit = Audit.of(audit_traced(traced, PrivacyParams()))
    found, parts = score(replace(audit, utility=figures))
    assert found is not None
    return found, next(part.score for part in parts if part.name == "Communities")


if __name__ == "__main__":
    main()
