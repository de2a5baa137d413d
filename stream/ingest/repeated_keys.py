"""Whether a JSON object repeats a key, which decoders ignore.

Each key and each text stands between two quotes. So a text has twice as many quotes as it has keys
and texts, escaped ones not counted; and more than what was decoded of it has, if a key was given
twice, since only one of both was kept.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_anything: Final = msgspec.json.Decoder()


def has_repeated_key(value: bytes) -> bool:
    r"""Return whether a decoded JSON text repeats a key.

    Examples
    --------
    >>> has_repeated_key(b'{"a": 1, "b": {"a": 2}}'), has_repeated_key(b'{"a": 1, "\u0061": 2}')
    (False, True)
    """
    try:
        kept = _anything.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _is_repeated_beside_the_odd(value)
    if b"\\" in value:
        value = _ESCAPED.sub(b"", value)
    return value.count(b'"') > _quotes(kept)


def _quotes(node: Any) -> int:
    # Records with fields that are ignored pass here: types are compared, calls are few.
    kind = type(node)
    if kind is str:
        return 2
    n_quotes, items = (2 * len(node), node.values()) if kind is dict else (0, node)
    if kind is dict or kind is list:
        for item in items:
            kind = type(item)
            if kind is str:
                n_quotes += 2
            elif kind is dict or kind is list:
                n_quotes += _quotes(item)
    return n_quotes


class _Repeated(Exception):
    """A key was given twice."""


def _is_repeated_beside_the_odd(value: bytes) -> bool:
    """Look into ignored fields without Unicode, or beyond bounds."""

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) != len(pairs):
            raise _Repeated

    text = value.decode("utf-8", "surrogateescape")
    try:
        json.loads(text, object_pairs_hook=look, parse_int=str, parse_float=str)
    except _Repeated:
        return True
    except (ValueError, RecursionError):
        return False
    return False
