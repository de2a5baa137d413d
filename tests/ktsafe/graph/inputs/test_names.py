"""Columns are found by names that say what they hold, and by nothing else."""

from __future__ import annotations

import pytest

from ktsafe.errors import InvalidGraph, InvalidParams
from ktsafe.graph.inputs.names import (
    check_names,
    chosen_columns,
    column_of,
    end_columns,
    id_column,
    is_word_of_names,
)

ENDS = [
    ("source,target", (0, 1)),
    ("Source;Target;Type;Id;Label;start;end", (0, 1)),
    (" TARGET ; source ", (1, 0)),
    ("weight;src;dst", (1, 2)),
    ("from;to", (0, 1)),
    ("FromNodeId;ToNodeId", (0, 1)),
    ("from_id;to_id", (0, 1)),
    ("node_1;node_2", (0, 1)),
    ("Node 1;Node 2", (0, 1)),
    ("id1;id2", (0, 1)),
    ("numeric_id_1;numeric_id_2", (0, 1)),
    ("creationDate;Person1Id;Person2Id", (1, 2)),
    ("Person.id;Person.id;creationDate", (0, 1)),
    (":TYPE;:START_ID(Person);:END_ID(Person)", (1, 2)),
    ("user_id;friend_id", (0, 1)),
    ("follower;followed", (0, 1)),
    ("followee_id;follower_id", (1, 0)),
    ("SOURCE_SUBREDDIT;TARGET_SUBREDDIT;POST_ID", (0, 1)),
    ("sender;recipient;date", (0, 1)),
    ("userA;userB", (0, 1)),
    ("id;name;age", None),
    ("source;weight", None),
    ("start;end", None),
    ("source;to", None),
    ("1;2", None),
    ("u;v", None),
    ("V1;V2", None),
    ("lat1;lat2", None),
]


@pytest.mark.parametrize(("header", "expected"), ENDS)
def test_ends_are_found_by_a_pair_of_one_kind(header: str, expected: object) -> None:
    """Case, blanks and what joins words do not count; one name of two kinds is no pair."""
    assert end_columns("f", header.replace(",", ";").split(";"), {}) == expected


@pytest.mark.parametrize(
    "header",
    [
        "from;to;src;dst",
        "user_id;friend_id;follower_id",
        "Source;SOURCE;target",
        "A.id;A.id;B.id;B.id",
    ],
)
def test_two_pairs_are_refused(header: str) -> None:
    """Both are told, and that options can say which is meant."""
    with pytest.raises(InvalidGraph, match="may "):
        end_columns("f", header.split(";"), {})


def test_the_very_names_win() -> None:
    """A table that has the columns source and target means these."""
    header = ["from", "to", "source", "target"]
    assert end_columns("f", header, {}) == (2, 3)
    assert id_column("f", ["node_id", "user_id", "id"], {}) == 2


IDS = [
    ("id;gender", 0),
    ("gender;Id", 1),
    ("gender;:ID", 1),
    ("personId:ID(Person);name", 0),
    ("Label;node_id", 1),
    ("Vertex;name", 0),
    ("user;age", 0),
    ("Name;age", 0),
    ("gender;age", None),
    ("label;age", None),
]


@pytest.mark.parametrize(("header", "expected"), IDS)
def test_ids_are_found(header: str, expected: int | None) -> None:
    """The id itself, what people are called, or their name where nothing else is there."""
    assert id_column("f", header.split(";"), {}) == expected


@pytest.mark.parametrize("header", ["user_id;node_id", "Id;ID", "person;member"])
def test_two_columns_of_ids_are_refused(header: str) -> None:
    """Which one is meant must be said."""
    with pytest.raises(InvalidGraph, match="may "):
        id_column("f", header.split(";"), {})
    assert id_column("f", header.split(";"), {"id": header.partition(";")[0]}) == 0


def test_columns_are_chosen_by_names_and_numbers() -> None:
    """Options say which column has which role; a name wins over a number."""
    chosen = chosen_columns("source=who, target=Whom,id=no 7")
    assert chosen == {"source": "who", "target": "Whom", "id": "no 7"}
    assert end_columns("f", ["since", "Who", "whom"], chosen) == (1, 2)
    assert end_columns("f", ["3", "1", "2"], {"source": "1", "target": "3"}) == (1, 0)
    assert id_column("f", ["a", "No_7"], chosen) == 1
    assert chosen_columns(" ") == {}
    with pytest.raises(InvalidGraph, match="no column 'who'"):
        end_columns("f", ["a", "b"], chosen)
    with pytest.raises(InvalidGraph, match="one column"):
        end_columns("f", ["a", "b"], {"source": "a", "target": "1"})


@pytest.mark.parametrize(
    "text", ["source=a", "ends=a", "source=a,target=b,source=c", "source", "id="]
)
def test_what_chooses_nothing_is_refused(text: str) -> None:
    """An end without the other one, a role that is none, a role twice."""
    with pytest.raises(InvalidParams, match="--columns"):
        chosen_columns(text)


def test_attributes_are_found_with_the_same_tolerance() -> None:
    """The very name wins; two that are as good are refused."""
    assert column_of("f", ["Home Town", "age"], "home_town") == 0
    assert column_of("f", ["Age", "age"], "age") == 1
    assert column_of("f", ["Age", "age"], "height") is None
    with pytest.raises(InvalidGraph, match="'Age' and 'AGE' may both be the column 'age'"):
        column_of("f", ["Age", "AGE"], "age")


def test_two_columns_of_one_name_are_refused() -> None:
    """By the name, whatever it is used for; columns without names are nobody's."""
    check_names("f", ["", "a", "", "A"])
    check_names("f", ["Person.id", "Person.id"])
    for header in (["id", "health", "health "], ["Person.id"] * 3, ["id", "id"]):
        with pytest.raises(InvalidGraph, match="columns"):
            check_names("f", header)


def test_words_of_names_are_nobody() -> None:
    """Names of columns are made of such words, and ids are not."""
    named = [
        "user_id",
        "numeric_id_1",
        "creationDate",
        ":START_ID",
        "Person1Id",
        "follower",
        "weight",
    ]
    assert all(map(is_word_of_names, named))
    assert not any(map(is_word_of_names, ["Ann", "Lee, Bo", "u7", "17", "jean-valjean", "a@b.c"]))
