"""Pajek: numbered vertices with names, then sections of ties.

Read here and not by a library: networkx and igraph let one of the sections decide about all of
them, and merge people of one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from ktsafe.graph.inputs.formats.drafts import Attribute, Draft
from ktsafe.graph.inputs.formats.matrices import PEOPLE_MAX, is_mirrored
from ktsafe.graph.inputs.network import Network

_SECTION: Final = re.compile(r"\*(\w+)[ \t]*(.*)")
_WORD: Final = re.compile(r'[ \t]*(?:"([^"]*)"|([^ \t"]+))(?=[ \t]|$)')
_CHARACTER: Final = re.compile(r"&#(\d{1,6});", re.ASCII)
"""How Pajek and igraph write letters, and quotation marks."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DRAWN: Final = frozenset(
    {
        *("x_fact", "y_fact", "s_size", "phi", "r", "q", "ic", "bc", "bw", "lc", "la", "lr"),
        *("lphi", "lp", "fos", "font", "h1", "h2", "a1", "a2", "k1", "k2", "ap", "hooks", "url"),
    }
)
"""Words by which Pajek says how to draw a vertex."""
_TIES: Final = frozenset({"arcs", "edges", "arcslist", "edgeslist", "matrix"})
_DIRECTED: Final = frozenset({"arcs", "arcslist"})
Line = tuple[int, str]


def read_pajek(path: Path, file: BinaryIO) -> Network:
    """Read a network of Pajek.

    Vertices without a name are called by their numbers.

    Raises
    ------
    InvalidGraph
        If there is anything in it that has no place in a network, such as a second one.
    """
    reader = _PajekReader(path)
    section: list[Line] = []
    line, header = 0, ""
    for number, text in _lines(file.read().decode("utf-8-sig")):
        if text.startswith("*"):
            reader.section(line, header, section)
            line, header, section = number, text, []
        elif header:
            section.append((number, text))
        else:
            reader.draft.refuse(number, "a line before *Vertices")
    reader.section(line, header, section)
    return reader.network()


def _lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        bare = line.strip(" \t")
        if bare and not bare.startswith("%"):
            yield number, bare


class _PajekReader:
    """A file that is being read."""

    def __init__(self, path: Path) -> None:
        self.draft = Draft("Pajek", path)
        self._names: list[str] | None = None

    def network(self) -> Network:
        """Return the network."""
        if self._names is None:
            self.draft.refuse(None, "there are no *Vertices in it")
        return self.draft.network()

    def section(self, line: int, header: str, lines: list[Line]) -> None:
        """Read a section."""
        found = _SECTION.fullmatch(header)
        if not header:
            return
        word, rest = (found[1].lower(), found[2]) if found else ("", "")
        if word == "vertices":
            self._vertices(line, rest, lines)
        elif word in _TIES:
            if self._names is None:
                self.draft.refuse(line, "ties before *Vertices")
            if rest and not rest.isdecimal():  # Some programs write how many lines follow.
                self.draft.ignored.add("relations")
            if word == "matrix":
                self._matrix(line, lines)
            elif word.endswith("list"):
                self._lists(lines, directed=word in _DIRECTED)
            else:
                self._pairs(lines, directed=word in _DIRECTED)
        elif word != "network" or lines:
            self.draft.refuse(line, "a section that is no network", "Save the network alone.")

    def _vertices(self, line: int, sizes: str, lines: list[Line]) -> None:
        draft = self.draft
        if self._names is not None:
            draft.refuse(line, "a second network", "Write one network in a file.")
        if not re.fullmatch(r"\d{1,9}", sizes, re.ASCII):
            is_bipartite = re.fullmatch(r"\d+\s+\d+", sizes, re.ASCII)
            what = "two kinds of vertices" if is_bipartite else "*Vertices without their number"
            draft.refuse(line, what, "Ties are between people of one kind.")
        n = int(sizes)
        if n > PEOPLE_MAX:
            draft.refuse(line, f"more than {PEOPLE_MAX:,} vertices")
        said: dict[int, tuple[int, list[str]]] = {}
        for number, text in lines:
            words = self._words(number, text)
            v = self._vertex(number, words[0], n)
            if v in said:
                draft.refuse(number, "a vertex for the second time", "Declare everybody once.")
            said[v] = number, words[1:]
        self._names = []
        for v in range(1, n + 1):
            at, words = said.get(v, (line, []))
            self._names.append((words[0] if words else "").strip() or str(v))
            self._person(at, self._names[-1], words[1:])

    def _person(self, line: int, name: str, words: list[str]) -> None:
        draft = self.draft
        row = draft.person(line, name)
        n_coordinates = next(
            (i for i, word in enumerate(words) if not _NUMBER.fullmatch(word)), len(words)
        )
        more = words[n_coordinates:]
        if n_coordinates:
            draft.ignored.add("coordinates")
        if n_coordinates not in {0, 2, 3} or any(word.startswith("[") for word in more):
            draft.refuse(line, "values behind the name that are no two or three coordinates")
        if len(more) % 2:
            draft.ignored.add("shapes")
            more = more[1:]
        elif n_coordinates and more:
            draft.refuse(line, "an attribute without a value")
        for key, value in zip(more[::2], more[1::2], strict=True):
            if key.lower() in _DRAWN:
                draft.ignored.add("drawing")
            else:
                attribute = draft.attributes.setdefault(key, Attribute(key))
                draft.put(line, attribute, row, value)

    def _pairs(self, lines: list[Line], *, directed: bool) -> None:
        for number, text in lines:
            words = self._words(number, text)
            if len(words) > 1 and re.fullmatch(r"\d+:", words[0]):
                words = words[1:]
                self.draft.ignored.add("relations")
            if len(words) < 2:
                self.draft.refuse(number, "a tie has two ends")
            self._tie(number, words[0], words[1], directed=directed)
            if words[2:] not in ([], ["1"]):
                self.draft.ignored.add("values of ties")
            if any(word.startswith("[") for word in words):
                self.draft.refuse(number, "a tie at some times", "Write the ties of one time.")

    def _lists(self, lines: list[Line], *, directed: bool) -> None:
        for number, text in lines:
            first, *others = self._words(number, text)
            for other in others:
                self._tie(number, first, other, directed=directed)

    def _matrix(self, line: int, lines: list[Line]) -> None:
        draft, names = self.draft, self._names or []
        n = len(names)
        if len(lines) != n:
            draft.refuse(line, f"a matrix of {len(lines)} lines for {n} vertices")
        cells = []
        for u, (number, text) in enumerate(lines):
            words = text.split()
            if len(words) != n or not all(map(_NUMBER.fullmatch, words)):
                draft.refuse(number, f"a line of a matrix has {n} numbers")
            cells += [(u, v) for v, word in enumerate(words) if float(word)]
            if any(float(word) not in {0.0, 1.0} for word in words):
                draft.ignored.add("values of ties")
        rows = np.array(cells, dtype=np.int64).reshape(-1, 2)
        mirrored = is_mirrored(rows[:, 0], rows[:, 1])
        for u, v in cells:
            if not mirrored or u <= v:
                draft.tie(line, names[u], names[v], directed=not mirrored)

    def _tie(self, line: int, source: str, target: str, *, directed: bool) -> None:
        names = self._names or []
        u, v = (self._vertex(line, word, len(names)) for word in (source, target))
        self.draft.tie(line, names[u - 1], names[v - 1], directed=directed)

    def _vertex(self, line: int, word: str, n: int) -> int:
        if not re.fullmatch(r"\d{1,9}", word, re.ASCII) or not 0 < int(word) <= n:
            self.draft.refuse(line, f"a vertex is a number from 1 to {n}")
        return int(word)

    def _words(self, line: int, text: str) -> list[str]:
        """Return the words of a line.

        Those in quotation marks may hold blanks.
        """
        words, end = [], 0
        for found in _WORD.finditer(text):
            if found.start() != end:
                break
            quoted, word = found.groups()
            words.append(_CHARACTER.sub(_letter, word or quoted or ""))
            end = found.end()
        if end != len(text):
            self.draft.refuse(line, "a quotation mark that does not open or close a word")
        return words


def _letter(code: re.Match[str]) -> str:
    letter = int(code[1])
    return code[0] if 0xD800 <= letter <= 0xDFFF else chr(letter)
