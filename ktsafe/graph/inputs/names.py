"""Find columns by name: a person's id, and a tie's ends.

Names may be added where they can mean nothing else; each makes files readable that were refused, so
tests/ktsafe/graph/inputs/test_names.py gets a case, and the table below its example.

Case, blanks, `_`, `-` and `.` do not count. What is not in the tables of this module is not
guessed: `--columns source=A,target=B,id=C` names it, by a column's name or, where there is no
header, by its number.

| of | names |
|---|---|
| a person | `id`; else one of `node`, `vertex`, `user`, `person`, ..., each with or without `id`, `:ID`, or `name` |
| a tie | `source, target`; else one pair such as `from, to`, `FromNodeId, ToNodeId`, `node_1, node_2`, `Person1Id, Person2Id`, `:START_ID, :END_ID`, `follower, followed`; `Person.id` twice |
"""  # noqa: E501 -- a table

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ktsafe.errors import InvalidGraph, InvalidParams

ID: Final = "id"
ENDS: Final = ("source", "target")
ROLES: Final = (*ENDS, ID)
Chosen = Mapping[str, str]
"""For some of the roles `source`, `target` and `id` the column that has it."""
NOTHING_CHOSEN: Final[Chosen] = MappingProxyType({})

_DOES_NOT_COUNT: Final = re.compile(r"[\s_.\-]+")
_NEO4J: Final = re.compile(r".*:(id|start_id|end_id)(\(.*\))?", re.IGNORECASE)
_TWICE: Final = re.compile(r"\w+\.id", re.IGNORECASE)
"""Names that LDBC gives to both ends of a tie."""
_PEOPLE: Final = (
    *("node", "vertex", "user", "person", "member", "actor", "individual", "player"),
    *("account", "profile", "author", "character", "student", "employee", "subject"),
)
"""What a person is called, in names of columns."""
_OF_ENDS: Final = (
    *_PEOPLE,
    "numeric",
    "page",
    "subreddit",
    "entity",
    "protein",
    "gene",
    "",
)
_SIDES: Final = (
    *(("source", "target"), ("src", "dst"), ("src", "dest"), ("src", "trg"), ("src", "tgt")),
    *(("from", "to"), ("start", "end"), ("1", "2"), ("a", "b")),
)
_ROLES_OF_PEOPLE: Final = (
    *(("follower", "followed"), ("follower", "followee"), ("follower", "following")),
    *(("user", "friend"), ("person", "friend"), ("user", "follower"), ("ego", "alter")),
    *(("sender", "receiver"), ("sender", "recipient"), ("caller", "callee")),
    *(("citing", "cited"), ("trustor", "trustee"), ("truster", "trustee")),
)
_TOO_SHORT: Final = frozenset({("start", "end"), ("1", "2"), ("a", "b")})
"""Times of a tie, or names of people, where nothing says that they name its ends."""
_LETTERS: Final = (("i", "j"), ("u", "v"), ("a", "b"), ("v1", "v2"), ("x1", "x2"))
"""Names of ends where all ids are numbers; elsewhere they may be people."""


def _pairs() -> Iterator[tuple[str, str]]:
    for who in _OF_ENDS:
        for one, other in _SIDES:
            for before, after in (("", who), (who, ""), ("", f"{who}id"), (f"{who}id", "")):
                yield f"{before}{one}{after}", f"{before}{other}{after}"
            yield f"{who}{one}id", f"{who}{other}id"
    for one, other in _ROLES_OF_PEOPLE:
        for end in ("", "id"):
            yield f"{one}{end}", f"{other}{end}"


_PAIRS: Final = frozenset(_pairs()) - _TOO_SHORT
_IDS: Final = frozenset(f"{who}{end}" for who in _PEOPLE for end in ("", "id")) | {"uid"}
_WORDS: Final = frozenset(
    "".join(name)
    for name in (
        *(word for pair in (*_PAIRS, *_ROLES_OF_PEOPLE) for word in pair),
        *_IDS,
        *("id", "ids", "name", "label", "edge", "edges", "tie", "link", "relation", "relationship"),
        *("type", "kind", "weight", "value", "count", "date", "time", "timestamp", "creation"),
        *("created", "year", "parent", "child", "left", "right", "head", "tail", "item", "friends"),
        *("buyer", "seller", "writer", "reader", "donor", "partner", "contact", "column", "col"),
        *("v1", "v2", "x1", "x2", "var1", "var2"),
        *("start", "end", "group", "post", "email", "mail", "phone", "number", "num", "index"),
    )
    if len(name) > 1
)
"""Words of which names of columns are made."""


def plain(name: str) -> str:
    """Return a name without what does not count.

    Examples
    --------
    >>> plain("From_Node-Id "), plain("Person.id")
    ('fromnodeid', 'personid')
    """
    if found := _NEO4J.fullmatch(name.strip()):
        return f":{found[1].lower().replace('_', '')}"
    return _DOES_NOT_COUNT.sub("", name).casefold()


def chosen_columns(text: str) -> dict[str, str]:
    """Return what `--columns` says: for each role that it names the column.

    Raises
    ------
    InvalidParams
        If it names no role, one twice, or one end alone.

    Examples
    --------
    >>> chosen_columns("source=Who,target=Whom")
    {'source': 'Who', 'target': 'Whom'}
    """
    hint = "Write --columns source=A,target=B,id=C, or a part of it."
    found: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        role, _, column = (word.strip() for word in part.partition("="))
        if role not in ROLES or not column or role in found:
            raise InvalidParams("--columns names roles and columns.", hint=hint)
        found[role] = column
    if len(set(ENDS) & found.keys()) == 1:
        raise InvalidParams("--columns names one end of two.", hint=hint)
    return found


def check_names(path: object, header: Sequence[str]) -> None:
    """Refuse two columns of one name.

    Those without a name cannot be asked for.

    Raises
    ------
    InvalidGraph
        Ends of LDBC are the one name that may stand twice.
    """
    for name, times in Counter(name.strip() for name in header).items():
        if name and times > 1 and not (times == 2 and _TWICE.fullmatch(name)):
            msg = f"{path} has {times} columns {name!r}."
            raise InvalidGraph(msg, hint="Rename or remove all but one: which is meant?")


def column_of(path: object, header: Sequence[str], name: str) -> int | None:
    """Return where a column stands.

    Of this very name, else of one that is as good as it.

    Raises
    ------
    InvalidGraph
        If two columns are as good.
    """
    found = [i for i, other in enumerate(header) if other.strip() == name.strip()]
    found = found or [i for i, other in enumerate(header) if plain(other) == plain(name)]
    if len(found) > 1:
        names = " and ".join(repr(header[i]) for i in found)
        msg = f"{path}: {names} may both be the column {name!r}."
        raise InvalidGraph(msg, hint="Rename the one that is not meant.")
    return found[0] if found else None


def id_column(path: object, header: Sequence[str], chosen: Chosen) -> int | None:
    """Return where the ids of people stand.

    None where no name says so.

    Raises
    ------
    InvalidGraph
        If several columns may hold them, or the chosen one is not there.
    """
    if ID in chosen:
        return _chosen(path, header, chosen[ID])
    if (exact := column_of(path, header, ID)) is not None:
        return exact
    names = [plain(name) for name in header]
    found = [i for i, name in enumerate(names) if name == ":id"]
    found = found or [i for i, name in enumerate(names) if name in _IDS]
    found = found or [i for i, name in enumerate(names) if name == "name"]
    if len(found) > 1:
        told = ", ".join(repr(header[i]) for i in found)
        msg = f"{path}: the ids of people may stand in {told}."
        raise InvalidGraph(msg, hint=f"Say which: --columns id={header[found[0]]}.")
    return found[0] if found else None


def end_columns(
    path: object, header: Sequence[str], chosen: Chosen, *, are_numbers: bool = False
) -> tuple[int, int] | None:
    """Return where both ends of a tie stand.

    None where no names say so.

    Parameters
    ----------
    are_numbers:
        Whether all ids are known to be numbers, so that single letters are no people.

    Raises
    ------
    InvalidGraph
        If several pairs of columns may hold them, or a chosen one is not there.
    """
    if ENDS[0] in chosen:
        one, other = (_chosen(path, header, chosen[end]) for end in ENDS)
        if one == other:
            raise InvalidGraph(f"{path}: both ends are to stand in one column.")
        return one, other
    exact = [column_of(path, header, end) for end in ENDS]
    if exact[0] is not None and exact[1] is not None:
        return exact[0], exact[1]
    known = {*_PAIRS, (":startid", ":endid"), *(_LETTERS if are_numbers else ())}
    names = [plain(name) for name in header]
    found = [
        (i, j)
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i != j and (one, other) in known
    ]
    found += [
        (i, j)
        for i, one in enumerate(header)
        for j, other in enumerate(header)
        if i < j and one.strip() == other.strip() and _TWICE.fullmatch(one.strip())
    ]
    if len(found) > 1:
        told = " or ".join(f"{header[i]!r} and {header[j]!r}" for i, j in found)
        i, j = found[0]
        msg = f"{path}: the ends of ties may stand in {told}."
        hint = f"Say which: --columns source={header[i]},target={header[j]}."
        raise InvalidGraph(msg, hint=hint)
    return found[0] if found else None


def is_word_of_names(text: str) -> bool:
    """Whether a text is made like a column's name, not a person's.

    Examples
    --------
    >>> [is_word_of_names(text) for text in ("creationDate", "user_id", "Person1Id", "Ann", "u7")]
    [True, True, True, False, False]
    """
    if plain(text) in _WORDS or text.strip().startswith(":"):
        return True
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return any(word.casefold() in _WORDS for word in words)


def _chosen(path: object, header: Sequence[str], name: str) -> int:
    """Return where a column stands that was chosen.

    By its name, else by its number from 1.
    """
    place = column_of(path, header, name)
    if place is None and name.isdecimal() and 0 < int(name) <= len(header):
        place = int(name) - 1
    if place is None:
        msg = f"{path} has no column {name!r}, which --columns names."
        raise InvalidGraph(msg, hint=f"It has {', '.join(map(repr, header))}.")
    return place
