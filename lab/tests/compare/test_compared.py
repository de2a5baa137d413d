"""The page of `ktsafe-lab compare`."""

from __future__ import annotations

from ktsafe_lab.compare.compared import comparison_page
from tests.ktsafe.assess.report.test_pages import check_page

ROW = {
    "k": 5,
    "t": "0.1",
    "without": "",
    "outcome": "kt-safe",
    "vertices": 40,
    "edges": 90,
    "edge_f1": 0.8,
    "edge_precision": 0.8,
    "edge_recall": 0.8,
    "k_real_share_below_k": 0.1,
}
BAD = {"outcome": "infeasible", "vertices": 40, "edges": 90}


def test_the_page_is_one_small_file_that_loads_and_runs_nothing() -> None:
    """Every element is closed, as on the pages of releases."""
    rows = [ROW, {**ROW, "k": 10, "edge_f1": None}, {"k": 20, "t": "0", "without": "club"} | BAD]
    check_page(comparison_page(rows, ("k", "t", "without"), "now"))
