"""`ktsafe.Sequence`: the library's `ktsafe next`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import ktsafe
import ktsafe.graph.inputs
from ktsafe import InvalidGraph, KtsafeError
from ktsafe.errors import BadLines
from ktsafe.protection.snapshots import write_tables
from ktsafe.stream.cli import run_command
from ktsafe.stream.ingest.own_tables import OwnTables
from tests.stream.commands.test_next import bytes_of

ASKED: dict[str, Any] = {
    "quasi_identifiers": ["club", "age"],
    "sensitive": "health",
    "sensitive_values": ["ill"],
    "buckets": {"age": (30.0,)},
    # The last one is two characters in JSON's escapes, which TOML has not.
    "groups": {"club": {"colours": ["red", "green", "pink", "🎨"]}},
    "k": 3,
    "seed": 7,
}
DATES = ("2020-01-01", "2020-02-01")


def network(month: int) -> nx.Graph:
    """Return 40 people, some of whose ties change."""
    rng = np.random.default_rng(1)
    graph = nx.gnm_random_graph(40, 90, seed=1)
    for person, data in graph.nodes(data=True):
        data |= {"club": ("red", "green", "blue")[person % 3], "age": int(rng.integers(20, 40))}
        data["health"] = "ill" if person % 13 == 0 else "well"
    # A value of two people at first, of more later: k is 3.
    for person in range(0, 15 if month else 6, 3):
        graph.nodes[person]["club"] = "pink"
    if month:
        graph.remove_edges_from(list(graph.edges)[:5])
    return nx.relabel_nodes(graph, {i: f"p{i}" for i in graph})


def unattacked(folder: Path) -> None:
    """Let the next releases do without attacks, which take long and are not what is tested."""
    config = folder / "ktsafe.toml"
    if "[attack]" not in config.read_text():
        config.write_text(config.read_text() + "\n[attack]\nbudget = 0.0\n")


def test_it_publishes_what_the_command_does(tmp_path: Path) -> None:
    """Graphs in memory and the same tables in files give the same bytes; readers get a release."""
    sequence = ktsafe.Sequence(tmp_path / "one", **ASKED)
    made = []
    for i, date in enumerate(DATES):
        made.append(sequence.release(network(i), at=date))
        unattacked(tmp_path / "one")
    assert [one.date for one in made] == list(DATES)
    assert made[0].is_new
    assert made[0].release is not None
    assert made[0].folder == tmp_path / "one" / "releases" / made[0].release.release_id
    assert set(made[0].release.columns["club"]) <= {"colours", "blue"}
    for one in made:
        assert one.folder is not None
        manifest = json.loads((one.folder / "manifest.json").read_text())
        assert manifest["generalized"] == {"club": {"colours": ["green", "red"]}}
    assert "published" in repr(made[0])
    assert "<table>" in made[0]._repr_html_()
    for i, date in enumerate(DATES):
        folder = tmp_path / date
        folder.mkdir()
        people = pd.DataFrame([{"id": name, **data} for name, data in network(i).nodes(data=True)])
        people.to_csv(folder / "vertices.csv", index=False)
        nx.to_pandas_edgelist(network(i)).to_csv(folder / "edges.csv", index=False)
        files = [f"--vertices={folder / 'vertices.csv'}", f"--edges={folder / 'edges.csv'}"]
        first = [f"--schema={tmp_path / 'one' / 'ktsafe.toml'}", "--k=3", "--seed=7"]
        place = [f"--sequence={tmp_path / 'two'}", f"--at={date}"]
        assert run_command(["next", *files, *place, *([] if i else first)]) == 0
        unattacked(tmp_path / "two")
    assert bytes_of(tmp_path / "one" / "releases") == bytes_of(tmp_path / "two" / "releases")
    again = sequence.release(network(1), at=DATES[1])
    assert not again.is_new


def test_codes_reach_the_sequence_as_they_are_written(tmp_path: Path) -> None:
    """As those of `protect`, and so do values that are declared as numbers."""
    graph = network(0)
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data |= {"club": ("1.0", "1")[i % 2], "health": 1.0 if i % 13 == 0 else 0}
    asked = {**ASKED, "groups": {}, "sensitive_values": [1]}
    sequence = ktsafe.Sequence(tmp_path / "s", **asked, nominal=["club"])
    made = sequence.release(graph, at=DATES[0])
    assert made.release is not None
    assert set(made.release.columns["club"]) == {"1.0", "1"}
    assert set(made.release.columns["health"]) <= {"0", "1", "-"}


def test_what_is_written_for_the_command_is_what_it_reads(tmp_path: Path) -> None:
    """Ids and values like marks of comments, separators, quotes, formulas and names of columns."""
    odd = ["#1", "%2", "a,b", 'q"x', "x;y", "NULL", "007", "7", "//c", "-", "'w", "=1+1", "true"]
    odd += ["1e5", ":ID", "id", "source", "{'a'", "  z z", "''z' '"]
    graph = nx.cycle_graph(odd)
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data |= {"id_": odd[-i], "Age": i, "health": "ill"}
    asked: dict[str, Any] = {"sensitive": "health", "sensitive_values": ["ill"]}
    sequence = ktsafe.Sequence(tmp_path / "s", quasi_identifiers=["id_", "Age"], **asked)
    write_tables(tmp_path, *sequence._tables(graph, None))
    vertices, edges = tmp_path / "vertices.csv", tmp_path / "edges.csv"
    network = ktsafe.graph.inputs.of_memory(graph)
    tables = OwnTables(schema=sequence._schema)
    bad: BadLines = {}
    rows = list(tables.people(vertices, sequence._schema.attributes).rows(bad))
    ties = {frozenset(ends) for _, *ends in tables.ties(edges, bad)}
    assert bad == {}
    assert [one for _, one, _ in rows] == network.ids
    assert [tuple(texts) for *_, texts in rows] == list(zip(*network.columns.values(), strict=True))
    ids = network.ids
    assert ties == {frozenset((ids[u], ids[v])) for u, v in network.edges.tolist()}


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Columns without a role, other schemas and earlier dates; nothing is begun by a refusal."""
    graph = network(0)
    graph.nodes["p0"]["name"] = "Ada"
    sequence = ktsafe.Sequence(tmp_path / "s", **ASKED)
    with pytest.raises(InvalidGraph, match="'name'"):
        sequence.release(graph, at=DATES[1])
    assert not (tmp_path / "s").exists()
    sequence = ktsafe.Sequence(tmp_path / "s", **ASKED, ignore=["name"])
    assert sequence.release(graph, at=DATES[1]).is_new
    with pytest.raises(KtsafeError, match="out of order"):
        sequence.release(graph, at=DATES[0])
    other = ktsafe.Sequence(tmp_path / "s", **{**ASKED, "k": 4}, ignore=["name"])
    with pytest.raises(InvalidGraph, match="collection of texts"):
        ktsafe.Sequence(tmp_path / "s", **{**ASKED, "quasi_identifiers": "club"})
    with pytest.raises(KtsafeError, match="began with k = 3"):
        other.release(graph, at="2020-03-01")
