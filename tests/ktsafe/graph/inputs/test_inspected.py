"""What is said of a network: counts, columns, and doubts with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ktsafe
from ktsafe.errors import InvalidGraph
from ktsafe.graph import MISSING
from ktsafe.graph.inputs.inspected import InspectedColumn, Inspection, inspect

N = 1_000


def people() -> pd.DataFrame:
    """Return people whose columns are known by hand."""
    return pd.DataFrame(
        {
            "Id": [f"p{i}" for i in range(N)],
            "name": [f"Name {i}" for i in range(N)],
            "gender": ["fm"[i % 2] if i % 10 else None for i in range(N)],
            "age": [18 + i % 40 for i in range(N)],
            "country": [i % 5 for i in range(N)],
            "born": [f"19{50 + i % 40}-06-15" for i in range(N)],
            "band": [["13-17", "18-24", "65+"][i % 3] for i in range(N)],
            "vip": [i % 4 == 0 for i in range(N)],
            "height": [1.5 + i / 1000 if i % 8 else None for i in range(N)],
            "diagnosis": ["chronic" if i % 7 == 0 else "none" for i in range(N)],
            "site": ["here"] * N,
            "new_id": [1000 + i for i in range(N)],
        }
    )


EXPECTED = {
    "name": ("nominal", "leave out", N, 0),
    "gender": ("nominal", "quasi-identifier", 2, N // 10),
    "age": ("number", "quasi-identifier", 40, 0),
    "country": ("nominal", "quasi-identifier", 5, 0),
    "born": ("date", "quasi-identifier", 40, 0),
    "band": ("ordinal", "quasi-identifier", 3, 0),
    "vip": ("boolean", "quasi-identifier", 2, 0),
    "height": ("number", "quasi-identifier", N - N // 8, N // 8),
    "diagnosis": ("nominal", "sensitive", 2, 0),
    "site": ("nominal", "leave out", 1, 0),
    "new_id": ("number", "leave out", N, 0),
}
TIES = [(i, (i + step) % N) for i in range(N - 1) for step in (1, 2) if i + step < N - 1]
N_TIES = 2 * (N - 1) - 3


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return people and ties, of which one is repeated and one is a loop; the last has none."""
    rows = [*TIES, (1, 0), (5, 5)]
    ties = pd.DataFrame([(f"p{u}", f"p{v}") for u, v in rows], columns=["From", "To"])
    return people(), ties


def table_of(found: Inspection) -> dict[str, tuple[str, str, int, int]]:
    return {c.name: (c.type, c.role, c.distinct, c.missing) for c in found.columns}


def csv(folder: Path) -> Inspection:
    vertices, ties = frames()
    vertices.to_csv(folder / "v.csv", index=False)
    ties.to_csv(folder / "e.csv", index=False)
    return inspect(folder / "e.csv", folder / "v.csv")


def semicolons(folder: Path) -> Inspection:
    vertices, ties = frames()
    vertices.to_csv(folder / "v.csv.gz", index=False, sep=";")
    ties.to_csv(folder / "e.tsv", index=False, sep="\t")
    return inspect(str(folder / "e.tsv"), str(folder / "v.csv.gz"))


def parquet(folder: Path) -> Inspection:
    vertices, ties = frames()
    vertices.to_parquet(folder / "v.parquet")
    ties.to_parquet(folder / "e.parquet")
    return inspect(folder / "e.parquet", folder / "v.parquet")


def graph() -> nx.MultiGraph:
    vertices, ties = frames()
    made = nx.MultiGraph()
    for row in vertices.to_dict("records"):
        made.add_node(row.pop("Id"), **{k: v for k, v in row.items() if pd.notna(v)})
    made.add_edges_from(ties.itertuples(index=False, name=None))
    return made


def in_memory(folder: Path) -> Inspection:
    return ktsafe.inspect(graph())


def data_frames(folder: Path) -> Inspection:
    vertices, ties = frames()
    return inspect(ties, vertices)


@pytest.mark.parametrize("way", [csv, semicolons, parquet, in_memory, data_frames])
def test_types_roles_and_counts(tmp_path: Path, way: Callable[[Path], Inspection]) -> None:
    """Are those known by hand, whatever the network came in as."""
    found = way(tmp_path)
    assert (found.people, found.ties, found.network.isolates) == (N, N_TIES, 1)
    assert (found.network.edges_repeated, found.network.loops) == (1, 1)
    assert table_of(found) == EXPECTED
    assert found.refused == ()
    assert "diagnosis" in str(found)
    assert len(repr(found)) < 5_000


@given(st.lists(st.sampled_from([None, MISSING, "n/a", "f", "m", "3", "x y"]), min_size=1))
def test_a_column_counts_each_person_once(values: list[str | None]) -> None:
    """Who has no value is missing, also where a dash says so; all others count for their value."""
    table = pd.DataFrame({"id": [f"p{i}" for i in range(len(values))], "kind": values})
    ties = pd.DataFrame({"source": ["p0"], "target": ["p0"]})
    (column,) = inspect(ties, table).columns
    told = Counter(value for value in values if value not in {None, MISSING})
    assert (column.missing, column.distinct) == (len(values) - told.total(), len(told))
    assert dict(column.common) == dict(told)


def test_a_schema_is_proposed(tmp_path: Path) -> None:
    """With ranges for numbers and dates, codes, and what is left out and why."""
    lines = csv(tmp_path).schema.splitlines()
    assert 'sensitive = "diagnosis"' in lines
    assert 'sensitive_values = ["chronic"]' in lines
    assert 'nominal = ["country"]  # codes' in lines
    assert '# Left out: "name" (tells everybody apart)' in lines
    assert '# Left out: "site" (says the same of everybody)' in lines
    assert next(line for line in lines if line.startswith("buckets")).startswith(
        'buckets = { "age" = ['
    )


def read(folder: Path, vertices: str, edges: str = "") -> Inspection:
    (folder / "v.csv").write_text(vertices)
    (folder / "e.csv").write_text(edges or "source,target\n1,2\n2,3\n")
    return inspect(folder / "e.csv", folder / "v.csv")


def column(found: Inspection, name: str) -> InspectedColumn:
    return next(column for column in found.columns if column.name == name)


def test_doubtful_values_are_shown(tmp_path: Path) -> None:
    """What looks missing, what may be one value, what is no number, what cannot be a name."""
    rows = "".join(
        f"{i},{i},{'ill' if i % 2 else 'ILL'},{'NULL' if i == 3 else i},a\n" for i in range(1, 31)
    )
    found = read(tmp_path, "id,points,health,age,target\n" + rows.replace("7,7,", "7,seven,"))
    assert column(found, "points").doubts == ("1 values are no numbers, such as 'seven'",)
    assert column(found, "health").doubts == ("'ill' (15) and 'ILL' (15) may be one value",)
    assert column(found, "age").doubts == ("'NULL' (1) may mean that it is missing",)
    assert "rename it" in column(found, "target").doubts[0]
    for name in ("points", "age", "target"):
        assert f'# Left out: "{name}" (correct its values, or its name, first)' in found.schema
    assert 'sensitive_values = ["ILL", "ill"]' in found.schema


def test_doubtful_ids_are_shown(tmp_path: Path) -> None:
    """Those that may be one person, and those that may be nobody."""
    (tmp_path / "net.txt").write_text("Ann Bo\nann Bo\n7 Bo\n007 NULL\n")
    found = inspect(tmp_path / "net.txt")
    assert found.doubts == (
        "'NULL' (1) may mean that somebody has no id",
        "'Ann' (1) and 'ann' (1) may be one id",
        "'7' (1) and '007' (1) may be one id",
    )


def test_what_would_be_refused_is_said(tmp_path: Path) -> None:
    """By line, and with the spellings themselves; the rest is told all the same."""
    found = read(tmp_path, "id,ward\n1,3\n2,3.0\n2,4\n3\n4,5\n", "source,target\n1,2\n1.0,4\n")
    assert [why.partition(":")[0] for why in found.refused] == [
        "v.csv, line 4",
        "v.csv, line 5",
        "v.csv, line 3",
        "e.csv, line 3",
    ]
    assert found.doubts == (
        "'ward' spells 1 texts in several ways, such as '3' and '3.0'",
        "'source' spells 1 texts in several ways, such as '1' and '1.0'",
    )
    assert (found.people, found.ties) == (3, 2)


def test_ties_that_name_another_column(tmp_path: Path) -> None:
    """It says which column, and how to choose it; then all is well."""
    found = read(tmp_path, "id,new_id\n7,1\n8,2\n9,3\n")
    said = "does not list; its column 'new_id' does: --columns id=new_id (3 such)"
    assert found.refused == (f"e.csv names a vertex that {tmp_path / 'v.csv'} {said}",)
    columns = {"id": "new_id"}
    assert inspect(tmp_path / "e.csv", tmp_path / "v.csv", columns=columns).refused == ()


def test_people_alone(tmp_path: Path) -> None:
    """A table of people is told without ties, and says what is to be given besides."""
    (tmp_path / "v.csv").write_text("id,gender\n1,f\n2,m\n")
    found = inspect(tmp_path / "v.csv")
    assert (found.people, found.ties) == (2, 0)
    assert "name the file of ties, too" in found.network.notes[0]


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    """As all readers refuse it."""
    (tmp_path / "x.json").write_text("[1, 2]")
    with pytest.raises(InvalidGraph):
        inspect(tmp_path / "x.json")
    with pytest.raises(InvalidGraph):
        inspect(7)
