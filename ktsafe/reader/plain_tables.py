"""Reads a release's tables from bytes exactly as the service writes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.numbering import ID_DIGITS, Ids

_EDGE_LINE: Final = 2 * ID_DIGITS + 2
"""Bytes of two ids of 16 digits, a comma and the end of the line."""
_NO_OCTET: Final = 256
_OCTET: Final = np.full(2**16, _NO_OCTET, dtype=np.uint16)
"""What two letters stand for, by the number that they are in memory."""
_OCTET[np.frombuffer(bytes(range(256)).hex().encode(), dtype=np.uint16)] = np.arange(256)
LINES_AT_ONCE: Final = 100_000
"""Lines that are taken apart together: all at once would take several times the file."""
FIELD_MAX: Final = 131_072
"""Bytes of a field that a CSV reader takes."""
_QUOTED: Final = frozenset(',"\r\n')


def plain_columns(
    data: bytes, header: Sequence[str]
) -> tuple[Sequence[str], list[list[str]]] | None:
    r"""Return the first column and the others, without quoted fields.

    The first is `Ids` if it holds such.

    They are what a CSV reader finds. None unless the file has this header, lines of as many fields
    that end with a newline, and nothing else that a CSV reader must look at.

    Examples
    --------
    >>> plain_columns(b"id,city\na,B\nb,\n", ["id", "city"])
    (['a', 'b'], [['B', '']])
    >>> plain_columns(b'id,city\na,"B"\n', ["id", "city"]) is None
    True
    """
    first, width = (",".join(header) + "\n").encode(), len(header)
    if width < 2 or any(_QUOTED & set(name) for name in header) or not data.startswith(first):
        return None
    if any(mark in data for mark in (b'"', b"\r", b"\0")):
        return None
    letters = np.frombuffer(data, dtype=np.uint8, offset=len(first))
    ends = np.flatnonzero((letters == ord(",")) | (letters == ord("\n")))
    if len(letters) != (ends[-1] + 1 if len(ends) else 0) or len(ends) % width:
        return None
    is_line = letters[ends].reshape(-1, width) == ord("\n")
    if is_line[:, :-1].any() or not is_line[:, -1].all():
        return None
    if np.diff(ends, prepend=-1).max(initial=0) > FIELD_MAX:
        return None
    ids: list[Sequence[str]] = []
    # Values come again and again; ids, in the first column, do not.
    columns: list[list[str]] = [[] for _ in header[1:]]
    known: list[dict[str, str]] = [{} for _ in columns]
    stops = [*ends[width * LINES_AT_ONCE - 1 :: width * LINES_AT_ONCE].tolist(), len(letters) - 1]
    begin = len(first)
    for stop in stops:
        try:
            fields = data[begin : len(first) + stop].decode().replace("\n", ",").split(",")
        except UnicodeDecodeError:
            return None
        begin = len(first) + stop + 1
        if len(fields) < width:
            break  # All lines were taken apart before.
        some = fields[::width]
        ids.append(some if (plain := Ids.of(some)) is None else plain)
        for j, column in enumerate(columns):
            texts = fields[j + 1 :: width]
            column.extend(map(known[j].setdefault, texts, texts))
    numbers = [block.numbers for block in ids if isinstance(block, Ids)]
    if numbers and len(numbers) == len(ids):
        return Ids(np.concatenate(numbers)), columns
    return list(itertools.chain.from_iterable(ids)), columns


def plain_edges(data: bytes, ids: Sequence[str]) -> NDArray[np.int64] | None:
    r"""Return a CSV reader's result for edges between hexadecimal ids.

    None unless every byte is as the service writes it; then a CSV reader must say what it is.

    Examples
    --------
    >>> ids = ["000000000000000b", "000000000000000a"]
    >>> plain_edges(b"source,target\n000000000000000a,000000000000000b\n", ids)
    array([[1, 0]])
    >>> plain_edges(b"source,target\na,b\n", ["a", "b"]) is None
    True
    """
    header = b"source,target\n"
    if not data.startswith(header) or (len(data) - len(header)) % _EDGE_LINE:
        return None
    lines = np.frombuffer(data, dtype=np.uint8, offset=len(header)).reshape(-1, _EDGE_LINE)
    if (lines[:, ID_DIGITS] != ord(",")).any() or (lines[:, -1] != ord("\n")).any():
        return None
    known = ids if isinstance(ids, Ids) else Ids.of(ids)
    if known is None or not len(known):
        return None
    order = np.argsort(known.numbers)
    ranked = known.numbers[order]
    # The service draws ids below 2**62: first bits that all share would tell none apart.
    bits = min(len(ranked).bit_length() + 1, 24)
    shift = np.uint64(max(int(ranked[-1]).bit_length() - bits, 0))
    begins = _begins(ranked, bits, shift)
    edges = np.empty((len(lines), 2), dtype=np.int64)
    for begin in range(0, len(lines), LINES_AT_ONCE):
        here = slice(begin, begin + LINES_AT_ONCE)
        some = lines[here]
        first = _first_of_runs(some[:, :ID_DIGITS])
        found = []
        for letters in (some[first, :ID_DIGITS], some[:, ID_DIGITS + 1 : -1]):
            numbers = _hexadecimal(letters)
            if numbers is None:
                return None
            place = _places(ranked, numbers, begins, shift)
            if (ranked[place] != numbers).any():
                return None
            found.append(order[place])
        edges[here, 0] = np.repeat(found[0], np.diff(first, append=len(some)))
        edges[here, 1] = found[1]
    return edges


def _first_of_runs(letters: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the rows of 16 letters that differ from the former.

    The first row does.
    """
    # Sources are in order, so each is read once; where they are not, all of them are.
    halves = letters.view(np.uint64)
    is_first = np.ones(len(letters), dtype=np.bool_)
    is_first[1:] = (halves[1:, 0] != halves[:-1, 0]) | (halves[1:, 1] != halves[:-1, 1])
    return np.flatnonzero(is_first)


def _begins(ranked: NDArray[np.uint64], bits: int, shift: np.uint64) -> NDArray[np.int32]:
    """Return begins of ascending numbers by their upper bits."""
    begins = np.empty(1 << bits, dtype=np.int32)
    for begin in range(0, len(begins), LINES_AT_ONCE):
        firsts = np.arange(begin, min(begin + LINES_AT_ONCE, len(begins)), dtype=np.uint64)
        place = np.searchsorted(ranked, firsts << shift)
        begins[begin : begin + len(firsts)] = np.minimum(place, len(ranked) - 1)
    return begins


def _places(
    ranked: NDArray[np.uint64],
    numbers: NDArray[np.uint64],
    begins: NDArray[np.int32],
    shift: np.uint64,
) -> NDArray[np.int32]:
    """Return the place of each number among ascending ones.

    Some other place where it is not.

    Looked for where numbers begin that are shifted to the same, and one further: ids are drawn
    evenly, so most are found. A search by halves takes five times as long: it is left for others.
    """
    last = len(ranked) - 1
    near = np.minimum(numbers >> shift, np.uint64(len(begins) - 1))
    place: NDArray[np.int32] = begins[near.view(np.int64)]
    missed = np.flatnonzero(ranked[place] != numbers)
    place[missed] = np.minimum(place[missed] + 1, last)
    missed = missed[ranked[place[missed]] != numbers[missed]]
    place[missed] = np.minimum(np.searchsorted(ranked, numbers[missed]), last)
    return place


def _hexadecimal(letters: NDArray[np.uint8]) -> NDArray[np.uint64] | None:
    """Return the numbers that rows of 16 letters are.

    None if some are no digits of the service.
    """
    octets = _OCTET[letters.view(np.uint16)]
    if octets.max(initial=0) == _NO_OCTET:
        return None
    return octets.astype(np.uint8).view(">u8").ravel().astype(np.uint64)
