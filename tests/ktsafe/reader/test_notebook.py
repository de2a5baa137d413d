"""The notebook for readers: its cells run as they stand, and conclude what is true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.ktsafe.reader.test_reader import some_graph, with_other_ties, write

NOTEBOOK = Path(__file__).parents[3] / "docs/notebooks/reader.ipynb"


def test_the_notebook_concludes_what_is_true(tmp_path: Path) -> None:
    """At least nine of ten intervals hold the truth, and no trend of a growing network is false."""
    people, graphs = some_graph(1, n=900, m=5_000), []
    for i in range(3):
        graphs.append(with_other_ties(people, 5_000 + 600 * i))
        # The graph that is shown lacks a third of the ties.
        write(tmp_path / f"{i}", with_other_ties(people, 3_500), truth=graphs[-1], seed=i)
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"]
    assert all(not c.get("outputs") for c in book["cells"])
    known: dict[str, Any] = {}
    for cell in code:
        text = cell.replace('"var/releases"', repr(str(tmp_path)))
        exec(compile(text, "notebook", "exec"), known)  # noqa: S102 -- our own text
    exact = [write(tmp_path / f"true{i}", graph, truth=None) for i, graph in enumerate(graphs)]
    truth = [known["ktsafe"].read(folder) for folder in exact]
    held = []
    for (figure, values, by, across), found in known["concluded"].items():
        true = [t.estimate(figure, *values, by=by, across=across).value for t in truth]
        held.append(found.low - 1e-9 <= true[-1] <= found.high + 1e-9)
        direction = known["trends"][figure, values, by, across].direction
        assert direction in {"not told", "up" if true[-1] > true[0] else "down"}, figure
    assert len(held) > 20
    assert np.mean(held) >= 0.9
    assert known["trends"]["ties", (), None, None].direction == "up"
