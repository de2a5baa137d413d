"""Numbers for classes and attribute texts, in order of first sight.

Of a text that nobody has any more a keyed hash is enough: its number stands for it, should it come
back. So an erasure takes the text out and changes no release.

Numbers, `GONE` and the hash lie in states and may not change. When texts are forgotten may, if no
release shows it (tests/ktsafe/sequence/test_forgotten_texts.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph

GONE: Final = "\0gone:"
"""Begins what stands in the place of a text that nobody has; no text begins so."""
DIGEST_BYTES: Final = 16
"""So many that no two of millions of texts are expected to have equal hashes."""


class Codes:
    """What the numbers in the tables stand for.

    Parameters
    ----------
    key:
        Key of the hashes of texts that nobody has; without one all texts stay.

    Attributes
    ----------
    categories:
        Texts of the codes of each attribute, the sensitive one last.
    classes:
        Quasi-identifier codes of each class; those of a class in two parts stand twice.
    second:
        Numbers of second parts, by those of the first.
    """

    def __init__(
        self,
        classes: Iterable[Sequence[int]],
        categories: Iterable[list[str]],
        key: bytes = b"",
    ) -> None:
        self.key = key
        self.categories = [list(known) for known in categories]
        self.classes = [tuple(codes) for codes in classes]
        self._numbers: dict[tuple[int, ...], int] = {}
        self.second: dict[int, int] = {}
        for number, codes in enumerate(self.classes):
            first = self._numbers.setdefault(codes, number)
            if first != number:
                self.second[first] = number

    def copy(self) -> Codes:
        """Return equal codes that get further ones by themselves."""
        return Codes(self.classes, self.categories, self.key)

    @property
    def sensitive(self) -> list[str]:
        """Texts of the codes of the sensitive attribute."""
        return self.categories[-1]

    def class_values(self) -> list[tuple[str, ...]]:
        """Return the texts of the quasi-identifiers of each class."""
        texts = self.categories[:-1]
        return [
            tuple(known[code] for known, code in zip(texts, codes, strict=True))
            for codes in self.classes
        ]

    def class_of(self, codes: tuple[int, ...]) -> int:
        """Return a class's number, of two parts the first's.

        A class never seen gets a new one.
        """
        if codes not in self._numbers:
            self._numbers[codes] = len(self.classes)
            self.classes.append(codes)
        return self._numbers[codes]

    def part(self, cls: int) -> int:
        """Return the number of a class's second part, from now on."""
        self.second[cls] = len(self.classes)
        self.classes.append(self.classes[cls])
        return self.second[cls]

    def of(self, values: Sequence[str]) -> tuple[int, int]:
        """Return the class and the sensitive code of a person's texts.

        New ones get a code.

        Raises
        ------
        InvalidGraph
            If there is not one text for each attribute.
        """
        if len(values) != len(self.categories):
            raise InvalidGraph("Attribute values do not fit the schema.")
        codes = []
        for known, text in zip(self.categories, values, strict=True):
            codes.append(self._code(known, text))
        return self.class_of(tuple(codes[:-1])), codes[-1]

    def _code(self, known: list[str], text: str) -> int:
        if text not in known:
            hashed = self._hash(text)
            if self.key and hashed in known:
                known[known.index(hashed)] = text
            else:
                known.append(text)
        return known.index(text)

    def _hash(self, text: str) -> str:
        key = self.key[: hashlib.blake2b.MAX_KEY_SIZE]
        data = text.encode(errors="surrogatepass")
        return GONE + hashlib.blake2b(data, key=key, digest_size=DIGEST_BYTES).hexdigest()

    def forget(
        self, classes: NDArray[np.int64], sensitive: NDArray[np.int64], kept: Collection[str]
    ) -> None:
        """Keep only hashes of texts of other classes and sensitive codes.

        Those in `kept` stay: the configuration names them.
        """
        used = [set(codes) for codes in zip(*(self.classes[cls] for cls in classes), strict=True)]
        used = used or [set() for _ in self.categories[:-1]]
        for known, codes in zip(self.categories, (*used, set(sensitive.tolist())), strict=True):
            for code, text in enumerate(known):
                if code not in codes and text not in kept and not text.startswith(GONE):
                    known[code] = self._hash(text)

    def of_all(self, people: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], ...]:
        """Return what `of` does, as two arrays, for many people."""
        kinds = {values: self.of(values) for values in dict.fromkeys(map(tuple, people))}
        codes = [kinds[values] for values in map(tuple, people)]
        return tuple(np.array(codes, dtype=np.int64).reshape(-1, 2).T)

    def table(self, cls: NDArray[np.int64], sensitive: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the codes of all attributes by class and sensitive code.

        (people, attributes).
        """
        classes = np.array(self.classes, dtype=np.int32).reshape(-1, len(self.categories) - 1)
        return np.column_stack((classes[cls], sensitive.astype(np.int32)))
