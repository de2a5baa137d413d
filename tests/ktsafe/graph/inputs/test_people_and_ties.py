"""Tables of people and of ties: columns by their names, one text for a cell, faults by line."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.graph.inputs.edge_lists import read_network
from ktsafe.graph.inputs.people_and_ties import People, Ties
from ktsafe.graph.inputs.table_files import table_at

Found = tuple[dict[str, int], dict[str, list[str | None]], BadLines]


def people(folder: Path, text: str | bytes, *attributes: str, **options: object) -> Found:
    """Return ids, columns, and bad lines of a table of people."""
    path = folder / str(options.pop("name", "v.csv"))
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = People(path, attributes or None, **options)  # type: ignore[arg-type]
    bad: BadLines = {}
    rows = list(found.rows(bad))
    columns = {name: [values[i] for _, _, values in rows] for i, name in enumerate(found.names)}
    return found.position, columns, bad


TEXTS = {
    "commas": "id,gender,home town\np1,f,Ulm\np2,m,\n",
    "semicolons": "id;gender;home town\np1;f;Ulm\np2;m;\n",
    "TABs": "id\tgender\thome town\np1\tf\tUlm\np2\tm\t\n",
    "bars": "id|gender|home town\np1|f|Ulm\np2|m|\n",
    "blanks": 'id gender Home_Town\np1 f Ulm\np2 m ""\n',
    "other spellings of names": "Home-Town, ID ,Gender\nUlm,p1,f\n,p2,m\n",
    "quotation marks": '"id","gender","home town"\n"p1", "f" ,"Ulm"\n'.replace('" ,', '",')
    + '"p2"," m",""\n',
    "blanks around": "id , gender,home town\n p1 ,f , Ulm\np2, m,\n",
    "a mark in front, and Windows": "\ufeffid,gender,home town\r\np1,f,Ulm\r\np2,m,\r\n",
    "comments": "# people of 2026\nid,gender,home town\np1,f,Ulm\np2,m,\n",
    "a header in a comment": "#id,gender,home town\np1,f,Ulm\np2,m,\n",
    "a column without a name": ",id,gender,home town\n0,p1,f,Ulm\n1,p2,m,\n",
    "what a spreadsheet says first": "sep=;\nid;gender;home town\np1;f;Ulm\np2;m;\n",
    "commas in values, semicolons between": "id;gender;home town;note\np1;f;Ulm;a, b\np2;m;;c, d\n",
    "two marks in the header": "id;gender;home town;note, if any\np1;f;Ulm;a\np2;m;;c\n",
    "a code for the id": "personId:ID(Person)|gender|home town\np1|f|Ulm\np2|m|\n",
}


@pytest.mark.parametrize("what", TEXTS)
def test_people_are_read(tmp_path: Path, what: str) -> None:
    """Whatever separates and however names are written; plain and gzipped."""
    text = TEXTS[what]
    expected = {"p1": 0, "p2": 1}, {"gender": ["f", "m"], "home_town": ["Ulm", None]}, {}
    assert people(tmp_path, text, "gender", "home_town") == expected
    packed = gzip.compress(text.encode())
    assert people(tmp_path, packed, "gender", "home_town", name="v.csv.gz") == expected


def test_all_columns_are_read_by_default(tmp_path: Path) -> None:
    """In the order of the file; what is asked for only, if that is said."""
    text = "gender,id,age\nf,p1,30\n"
    assert people(tmp_path, text)[1] == {"gender": ["f"], "age": ["30"]}
    assert People(tmp_path / "v.csv", ["age"]).ignored == ["gender"]
    assert People(tmp_path / "v.csv", ["age"], chosen={"id": "gender"}).ignored == ["id"]


def test_a_value_has_one_text(tmp_path: Path) -> None:
    """Whole fractions, booleans, quotation marks and blanks make no difference; codes stay."""
    text = "id,ill,age,code\n1.0,True,30.0,1.0\n2.0,False, 31.0 , 2.10 \n3.0,,'32.5',\n"
    ids, columns, bad = people(tmp_path, text, nominal={"code"})
    assert list(ids) == ["1", "2", "3"]
    assert columns["ill"] == ["true", "false", None]
    assert columns["age"] == ["30", "31", "32.5"]
    assert columns["code"] == ["1.0", "2.10", None]
    assert bad == {}


def test_parquet_tells_what_csv_tells(tmp_path: Path) -> None:
    """Numbers with a gap, booleans, dates and texts have the texts that pandas writes."""
    frame = pd.DataFrame(
        {
            "id": [7, 8, 9],
            "ill": [1, None, 0],
            "vip": [True, False, True],
            "born": [datetime.date(1990, 1, 31), None, datetime.date(2001, 2, 3)],
            "town": ["Ulm ", None, "1.0"],
            "height": [1.5, 1.75, None],
        }
    )
    frame.to_csv(tmp_path / "v.csv", index=False)
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "v.parquet")
    found = []
    for name in ("v.csv", "v.parquet"):
        table = People(tmp_path / name)
        found.append(list(table.rows({})))
    assert [row[1:] for row in found[0]] == [row[1:] for row in found[1]]
    assert found[0][0][2] == ["1", "true", "1990-01-31", "Ulm", "1.5"]
    assert table.table.kinds == {
        "id": "number",
        "ill": "number",
        "vip": "boolean",
        "born": "date",
        "town": "text",
        "height": "number",
    }
    assert [row[0] for row in found[1]] == [1, 2, 3]


REFUSED = {
    "no id": ("name_of_it,gender\np1,f\n", "no column 'id'.*--columns id="),
    "no attribute": ("id,sex\np1,f\n", "no column 'gender'"),
    "nothing": ("", "no columns 'id', 'gender'.*It is empty"),
    "a column twice": ("id,gender,health,health\np1,f,ill,well\n", "2 columns 'health'"),
    "the id twice": ("id,gender,id\np1,f,p1\n", "2 columns 'id'"),
    "two ids": ("user_id,gender,node_id\n1,f,2\n", "may stand in 'user_id', 'node_id'"),
    "two attributes": ("id,Gender,GENDER\n1,f,m\n", "'Gender' and 'GENDER' may both"),
    "two separators": ("id,gender;age\n1,2;3\n", "separated by commas or semicolons"),
    "UTF-16": ("id,gender\np1,f\n".encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": ("id,gender\np1,f\n".encode("utf-16-le"), "UTF-16"),
    "Latin-1": ("id,gender\np1,schön\n".encode("latin-1"), "no UTF-8 text"),
    "an open quotation mark": ('id,gender\n"p1,f\n', "no readable CSV"),
    "ids that are fractions": ("id,gender\n0.5,f\n1,m\n", "'id' holds fractions"),
    "ids that are times": ("id,gender\n2026-01-31,f\n2026-02-28,m\n", "'id' holds times"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_sure_table_is_refused(tmp_path: Path, what: str) -> None:
    """The error names the file and the column."""
    text, told = REFUSED[what]
    with pytest.raises(InvalidGraph, match=told) as error:
        people(tmp_path, text, "gender")
    assert "v.csv" in error.value.message


BAD = {
    "short and long rows": (
        "p1,f\np2\np3,m,x\n",
        {"1 values for 2 columns": [3], "3 values for 2 columns": [4]},
    ),
    "two files joined": (
        "p1,f\nid,gender\np2,m\n",
        {"the header again, as where files were joined": [3]},
    ),
    "no id, an id again": (
        "p1,f\n,m\np1,m\n p1 ,m\n",
        {"no id": [3], "an id for the second time": [4, 5]},
    ),
    "a value in two spellings": (
        "p1,1\np2,1.0\np3,2\np4,1\np5,'1'\n",
        {"'gender' holds what is spelt otherwise before, as 7 and 7.0": [3, 6]},
    ),
    "blanks are no other spelling": ("p1,f \np2, f\n", {}),
    "one spelling that is no text of its own": ("p1,1.0\np2,1.0\n", {}),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_rows_are_told_by_line(tmp_path: Path, what: str) -> None:
    """All at once, each kind with its lines."""
    text, expected = BAD[what]
    assert people(tmp_path, f"id,gender\n{text}", "gender")[2] == expected


def test_ids_in_two_spellings_are_told(tmp_path: Path) -> None:
    """Two given ids that become one text are not taken for a repetition alone."""
    _, _, bad = people(tmp_path, "id,gender\n747,f\n747.0,m\n9007199254740994.0,f\n", "gender")
    assert bad["'id' holds what is spelt otherwise before, as 7 and 7.0"] == [3]
    assert [lines for what, lines in bad.items() if "2**53" in what] == [[4]]


def test_ties_of_a_table(tmp_path: Path) -> None:
    """Ends by their names, faults by line; other columns are ignored."""
    (tmp_path / "e.csv").write_text("since,To,From\n1,a,b\n2,,b\n3,b\n4,b,'c'\n")
    ties = Ties(table_at(tmp_path / "e.csv"))
    bad: BadLines = {}
    assert list(ties.rows(bad)) == [(2, "b", "a"), (5, "c", "b")]
    assert ties.ignored == ["since"]
    assert bad == {"no id at one of its ends": [3], "2 values for 3 columns": [4]}
    (tmp_path / "v.csv").write_text("id,gender\np1,f\n")
    with pytest.raises(InvalidGraph, match="no columns 'source', 'target'"):
        Ties(table_at(tmp_path / "v.csv"))


def test_ties_of_people_of_a_table(tmp_path: Path) -> None:
    """They have the people's places; whom the table does not list is told by line."""
    (tmp_path / "v.csv").write_text("id,new_id\n30,a\n10,b\n20,c\n")
    (tmp_path / "e.csv").write_text("source,target\n10.0,20\n20,10\n30,20\n")
    listed = People(tmp_path / "v.csv")
    assert len(list(listed.rows({}))) == 3
    network = read_network(tmp_path / "e.csv", people=listed)
    assert network.ids == ["30", "10", "20"]
    assert (network.edges.tolist(), network.edges_repeated) == ([[0, 2], [1, 2]], 1)
    (tmp_path / "e.csv").write_text("source,target\n10,20\n40,10\n50,20\n")
    with pytest.raises(
        InvalidGraph, match=r"e.csv, lines 3, 4: names a vertex that .*v.csv does not"
    ):
        read_network(tmp_path / "e.csv", people=listed)


def test_ties_that_name_another_column_of_people(tmp_path: Path) -> None:
    """The error says which column, and how to say that it holds the ids."""
    (tmp_path / "v.csv").write_text("id,new_id\n30,1\n10,2\n20,3\n")
    (tmp_path / "net.txt").write_text("1 2\n2 3\n")
    listed = People(tmp_path / "v.csv")
    assert len(list(listed.rows({}))) == 3
    with pytest.raises(InvalidGraph, match="its column 'new_id' does: --columns id=new_id"):
        read_network(tmp_path / "net.txt", people=listed)


def test_a_list_of_listed_people_needs_no_digits(tmp_path: Path) -> None:
    """Where people are known, a first line that names two of them is no header."""
    (tmp_path / "v.csv").write_text("id,gender\nAnn,f\nBo,m\nCy,m\nDee,f\n")
    (tmp_path / "net.txt").write_text("Ann Bo\nCy Dee\n")
    listed = People(tmp_path / "v.csv")
    assert len(list(listed.rows({}))) == 4
    network = read_network(tmp_path / "net.txt", people=listed)
    assert network.edges.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(InvalidGraph, match="header, or a tie"):
        read_network(tmp_path / "net.txt")
