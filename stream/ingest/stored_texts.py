"""Texts of attributes that a table spelt, as the store keeps them."""

from __future__ import annotations

from typing import Final

from ktsafe import MISSING, Schema
from ktsafe.errors import InvalidGraph
from ktsafe.stream.ingest.events import MalformedEvent, attribute_text, bad_border

MEMO_MAX: Final = 1 << 14
"""Texts per attribute that are looked at once; measures may have many."""


class StoredTexts(dict[str | None, str | None]):
    """What the store keeps for a text of an attribute.

    That is the text as written, None where it is missing.

    Raises
    ------
    MalformedEvent
        When it is asked for a text that no event could carry, or that is none of its kind.
    """

    def __init__(self, schema: Schema, name: str) -> None:
        super().__init__(dict.fromkeys((None, MISSING)))
        self._schema = schema
        self._name = name

    def __missing__(self, text: str | None) -> str | None:
        try:
            found = attribute_text(text, is_code=True)  # The table has spelt it.
            self._schema.category(self._name, text)
        except MalformedEvent as error:
            raise MalformedEvent(error.reason, f"{self._name}: {error.detail}") from None
        except InvalidGraph:
            raise bad_border(self._name, self._schema) from None
        if len(self) < MEMO_MAX:
            self[text] = found
        return found
