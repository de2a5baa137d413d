"""An auditor's knowledge as named pages, to go on from.

    form            format, and a hash of nothing under the key
    <part>/<name>   an attribute of what learns, in MessagePack, numbers in as few bytes as may be

A program that keeps anything else does not read it. Raise `FORMAT` where a name gets another
meaning.

Other or renamed attributes need no more than this check: services then audit the sequence from its
first release. tests/ktsafe/audit/sequence/test_saved.py saves at any release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import CopyOnExtend, Numbering
from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.params import PrivacyParams

FORMAT: Final = 1
FORM: Final = "form"

OPTIONAL: Final = {"_linked": CandidateSets}
"""Parts that a new auditor does not have yet."""


class UnknownSavedState(ValueError):
    """The saved pages are of another version, or of no auditor."""


def pages(auditor: CopyOnExtend, key: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the pages of `auditor`, things as hashes under `key`."""
    yield FORM, _form(key)
    yield from _pages(auditor, "", key)


def resume(auditor: CopyOnExtend, pages: Mapping[str, bytes], key: bytes) -> None:
    """Let a new auditor know what was saved.

    Raises
    ------
    UnknownSavedState
    """
    if pages.get(FORM) != _form(key):
        raise UnknownSavedState("another format, or another key")
    try:
        names = {FORM, *_resume(auditor, "", pages, key)}
    except (msgspec.DecodeError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnknownSavedState("no saved auditor of this version") from error
    if names != pages.keys():
        raise UnknownSavedState("this version keeps something else")


def _form(key: bytes) -> bytes:
    """Return what tells format and key.

    Under another key all would seem to be new.
    """
    return msgspec.msgpack.encode([FORMAT, hashlib.blake2b(key=key, digest_size=16).digest()])


def _learned(part: CopyOnExtend) -> dict[str, Any]:
    return {name: value for name, value in vars(part).items() if name not in part.NOT_SAVED}


def _pages(part: CopyOnExtend, at: str, key: bytes) -> Iterator[tuple[str, bytes]]:
    part.settle()
    for name, value in _learned(part).items():
        if isinstance(value, CopyOnExtend):
            yield from _pages(value, f"{at}{name}/", key)
        else:
            yield at + name, msgspec.msgpack.encode(_packed(value, key))


def _packed(value: Any, key: bytes) -> Any:
    match value:
        case None | bool() | int() | str() | bytes():
            return value
        case np.ndarray() if _are_keys(value):
            first, second = value >> 32, value & 0xFFFFFFFF
            return ["keys", _packed(np.diff(first, prepend=0), key), _packed(second, key)]
        case np.ndarray():
            narrow = np.ascontiguousarray(_narrowed(value)).reshape(-1)
            numbers = narrow.dtype.str, value.shape, narrow.view(np.uint8).data
            return ["array", *numbers, value.dtype.str]
        case Numbering():
            return ["numbering", value.sealed(key)]
        case PrivacyParams():
            return ["params", value.to_mapping()]
        case Rows():
            return ["rows", *(_packed(each, key) for each in value)]
        case tuple():
            return ["tuple", *(_packed(each, key) for each in value)]
        case frozenset():
            return ["set", *sorted(value)]
        case list() if set(map(type, value)) <= {bytes, int}:
            return ["list", value]
        case list():
            return ["tables", *(_packed(each, key) for each in value)]
        case dict():
            return ["dict", list(value), list(value.values())]
    raise TypeError(f"{type(value).__name__} cannot be saved")


def _are_keys(array: NDArray[Any]) -> bool:
    """Whether these are two numbers in one each, ascending.

    Most of them differ little.
    """
    if array.dtype != np.int64 or array.ndim != 1 or not len(array):
        return False
    return array[0] >= 0 and array[-1] >= 1 << 32 and bool((array[1:] >= array[:-1]).all())


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in as few bytes as hold them.

    Anything else as it is.
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    least, most = array.min(), array.max()
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return array.astype(kind)
    return array


def _resume(part: CopyOnExtend, at: str, pages: Mapping[str, bytes], key: bytes) -> Iterator[str]:
    """Yield the names of the pages that were read."""
    for name, value in _learned(part).items():
        if at + name in pages:
            yield at + name
            packed = msgspec.msgpack.decode(pages[at + name])
            setattr(part, name, _unpacked(packed, key))
            continue
        inner = value if isinstance(value, CopyOnExtend) else OPTIONAL[name]()
        yield from _resume(inner, f"{at}{name}/", pages, key)
        setattr(part, name, inner)
    part.resume()


def _unpacked(packed: Any, key: bytes) -> Any:
    if not isinstance(packed, list):
        return packed
    kind, *rest = packed
    match kind:
        case "keys":
            first, second = (_unpacked(each, key) for each in rest)
            return (np.cumsum(first) << 32) | second
        case "array":
            dtype, shape, data, wide = rest
            # A copy: what is read from bytes could not be written to.
            array = np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape)
            return array.astype(np.dtype(wide))
        case "numbering":
            return Numbering.of_sealed(rest[0], key)
        case "params":
            return PrivacyParams.from_mapping(rest[0])
        case "rows":
            return Rows(*(_unpacked(each, key) for each in rest))
        case "tuple":
            return tuple(_unpacked(each, key) for each in rest)
        case "set":
            return frozenset(rest)
        case "list":
            return rest[0]
        case "tables":
            return [_unpacked(each, key) for each in rest]
        case "dict":
            return dict(zip(*rest, strict=True))
    raise UnknownSavedState("an unknown kind of value")
