"""The encrypted cut of a manifest: the same bytes for the same cut, and nothing in common else."""

from __future__ import annotations

import base64

import pytest

from ktsafe.state.ledger import Erased, PendingCut, SequenceRecord
from ktsafe.stream.release.cut import BLOCK_BYTES, TAG_BYTES, decrypt_cut, encrypt_cut

SEQUENCE = SequenceRecord("s", "d", 0, secret="01" * 32)
RELEASE = "000001-20260101T000000Z"


def encrypted(offset: int, release_id: str = RELEASE, n_erased: int = 0) -> bytes:
    erased = [Erased("0f" * 16, 5)] * n_erased
    text = encrypt_cut(SEQUENCE, release_id, PendingCut(5, {"feed/0": offset}), erased)
    assert text is not None
    return base64.b64decode(text)


def test_a_cut_is_read_by_its_release_and_secret_alone() -> None:
    """It is the same each time; another id, secret or bit is refused."""
    text = base64.b64encode(encrypted(7)).decode()
    assert encrypted(7) == encrypted(7)
    assert decrypt_cut(SEQUENCE, RELEASE, text).offsets == {"feed/0": 7}
    changed = bytearray(encrypted(7))
    changed[-1] ^= 1
    for sequence, release_id, told in (
        (SEQUENCE, "000002-20260101T000000Z", text),
        (SequenceRecord("s", "d", 0, secret="02" * 32), RELEASE, text),
        (SEQUENCE, RELEASE, base64.b64encode(changed).decode()),
    ):
        with pytest.raises(ValueError, match="another release"):
            decrypt_cut(sequence, release_id, told)


def test_two_cuts_of_one_release_id_have_no_pad_in_common() -> None:
    """What two sinks hold of a restored state does not tell how far its offsets are apart."""
    first, second = encrypted(7)[TAG_BYTES:], encrypted(8)[TAG_BYTES:]
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    assert equal < len(first) / 32  # By chance one byte of 256; under one pad all but one.


def test_a_length_tells_no_exact_number() -> None:
    """Whole blocks, however many persons were erased."""
    lengths = {len(encrypted(7, n_erased=n)) - TAG_BYTES for n in range(60)}
    assert {length % BLOCK_BYTES for length in lengths} == {0}
