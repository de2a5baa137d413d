"""What libraries write is read as the network that it is, or refused for a reason that is meant.

`python -m lab.trials.formats` runs many more.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import networkx as nx
import pytest

from tests.ktsafe.graph.inputs.formats.written_networks import (
    WRITERS,
    as_networkx,
    drawn,
    read_damaged,
    written,
)
from tests.ktsafe.graph.inputs.reading import refused

SEEDS = range(20)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_libraries_write_is_understood(tmp_path: Path, writer: str) -> None:
    """Ids, attributes, ties, repetitions, loops and directions of random networks."""
    outcomes = {"read": 0, "refused": 0, "not written": 0}
    for seed in SEEDS:
        outcome, told, path = written(writer, seed, tmp_path)
        assert outcome != "misread", (writer, seed, told, path)
        outcomes[outcome] += 1
    assert outcomes["read"] > len(SEEDS) / 2


@pytest.mark.parametrize("writer", WRITERS)
def test_a_damaged_file_is_refused_or_a_network(tmp_path: Path, writer: str) -> None:
    """Never another error, and no text that cannot be written."""
    outcomes = {read_damaged(writer, seed, tmp_path) for seed in SEEDS}
    assert outcomes <= {"read", "refused"}


NOT_READ = {
    "GEXF": nx.generate_gexf,
    "GML": nx.generate_gml,
    "a Pajek file": nx.generate_pajek,
    "node-link JSON": lambda graph: [json.dumps(nx.node_link_data(graph, edges="links"))],
}


@pytest.mark.parametrize("name", NOT_READ)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_formats_that_are_not_read_are_recognized(tmp_path: Path, name: str) -> None:
    """Whatever they hold, networks of networkx in them are never read as an edge list."""
    n = 0
    for seed in SEEDS:
        try:
            text = "\n".join(NOT_READ[name](as_networkx(drawn(random.Random(seed)))))
        except (nx.NetworkXError, TypeError, ValueError):
            continue
        n += 1
        refused(tmp_path, "net.txt", text, f"is {name}, which is not read")
    assert n > len(SEEDS) / 2
