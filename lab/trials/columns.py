"""Insensitive columns of the messy network: what holds of them, and what they tell an attacker.

    python -m lab.trials.columns [SEED]

22 columns of people, six of them drawn to go with degrees, and weights and kinds of ties. Prints
differences of shares and of correlations with degree, how well a weight tells true edges from
inserted ones, and who is found with and without the columns.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from ktsafe import Protected, protect
from ktsafe.attacks import Case
from ktsafe.attacks.common.result import area_under_curve
from tests import messy_network

N_SHOWN = 22
GOES_WITH = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Of the first columns: how much of each is the degree, before it is put into seven classes."""


def released(seed: int) -> Protected:
    """Return a release with the columns."""
    people = messy_network.vertices()
    ties = messy_network.ties(people)
    rng = np.random.default_rng([seed, 9])
    degrees = np.bincount(np.array(ties).ravel(), minlength=messy_network.N_PEOPLE)
    standard = (degrees - degrees.mean()) / degrees.std()
    names = [name for name in people if name.startswith("other")]
    for name, share in zip(names, GOES_WITH, strict=False):
        drawn = rng.standard_normal(len(standard))
        mixed = share * standard + np.sqrt(1 - share * share) * drawn
        borders = np.quantile(mixed, np.linspace(0, 1, 8)[1:-1])
        people[name] = np.digitize(mixed, borders).tolist()
    rows = [(people["id"][u], people["id"][v]) for u, v in messy_network.edges(ties)]
    edges = pd.DataFrame(rows, columns=["source", "target"])
    edges["weight"] = rng.geometric(0.3, len(edges))
    edges["kind"] = rng.choice(["a", "b", "c"], len(edges))
    asked: dict[str, Any] = dict(messy_network.ASKED)
    return protect(
        edges,
        pd.DataFrame(people),
        insensitive=names[:N_SHOWN],
        edge_columns=["weight", "kind"],
        ignore=names[N_SHOWN:],
        generalize="auto",
        keep=["gender", "age", "city"],
        rng=seed,
        **asked,
    )


def main() -> None:
    """Print the figures of one seed."""
    safe = released(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    told, made = safe.provenance.told, safe.provenance.made
    true, shown = safe.provenance.columns
    sys.stdout.write(f"{safe}\n")
    worst, apart = 0.0, 0.0
    for name, column in true.of_vertices.items():
        worst = max(worst, share_difference(column, shown.of_vertices[name]))
        before = correlation(column, told.degrees)
        after = correlation(shown.of_vertices[name], made.graph.degrees)
        apart = max(apart, abs(after - before))
    for name, column in true.of_edges.items():
        difference = share_difference(column, shown.of_edges[name])
        sys.stdout.write(f"{name}: shares differ by {difference:.4f}\n")
    sys.stdout.write(f"people: shares differ by {worst:.4f}, correlations by {apart:.3f}\n")
    case = Case(told, made.graph, made.origin.astype(np.int64))
    auc = area_under_curve(np.array(shown.of_edges["weight"], dtype=float), case.is_true_edge)
    sys.stdout.write(f"weights as marks of true edges: AUC {auc:.3f}\n")
    for result in safe.attack(["one_hop", "known_columns"]):
        sys.stdout.write(f"{result.attack}: {result.value:.4f}, control {result.control:.4f}\n")


def share_difference(before: list[Any], after: list[Any]) -> float:
    """Return the greatest difference of the share of a value."""
    shares = [
        pd.Series(column, dtype=object).fillna("-").value_counts(normalize=True)
        for column in (before, after)
    ]
    return float(shares[0].sub(shares[1], fill_value=0).abs().max())


def correlation(column: list[Any], degrees: Any) -> float:
    """Return Pearson's correlation."""
    return float(np.corrcoef(np.array(column, dtype=float), degrees)[0, 1])


if __name__ == "__main__":
    main()
