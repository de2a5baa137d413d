"""A release in fewer bytes: what it shares with the one before is not sent again.

The files of a release, one after the other, are one zstandard frame. Its dictionary is the files of
the release before, which the reader has (`zstd --patch-from`); a *full* release has none. The frame
follows from the bytes of the two releases and from the constants here: it tells nothing that they
do not, whatever networks they were made of.
"""

# ruff: noqa: PLC0415 -- zstandard is loaded where something is packed, which is asked for

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from zstandard import ZstdCompressionDict

BYTES_MAX: Final = 512 * 1024 * 1024
"""Bytes of a release that is packed; a larger one is sent as it is.

A reader takes four times as much memory at most: the release, the one before twice, the frame. The
tables that a sink packs with take eight to sixteen times as much.
"""
CHUNK_BYTES: Final = 16 * 1024
"""Size of the chunks of a frame: what fills the last one is little beside a few changes."""
_FILL_BYTES_MAX: Final = 1024 * 1024


def pack(content: bytes, base: bytes) -> bytes:
    """Return the frame of a release.

    Parameters
    ----------
    content, base:
        The files of the release, and of the one before; no base makes a full one.
    """
    import zstandard

    assert max(len(content), len(base)) <= BYTES_MAX
    window = _window_log(len(content), len(base))
    parameters = zstandard.ZstdCompressionParameters(
        window_log=window,
        # Tables reach as far as the same row in the base, or next to nothing is found there.
        chain_log=window - 1,
        hash_log=window - 1,
        search_log=7,
        # Rows begin alike: shorter matches fill the chains, and those that matter are not found.
        min_match=6,
        target_length=64,
        strategy=zstandard.STRATEGY_LAZY2,
    )
    packer = zstandard.ZstdCompressor(compression_params=parameters, dict_data=_dictionary(base))
    return packer.compress(content)


def unpack(frame: bytes, base: bytes, length: int) -> bytes:
    """Return the files in a frame; what follows the frame is passed over.

    A frame may say anything. No memory is taken for more than `length` bytes.

    Raises
    ------
    ValueError
        If they are not so many bytes, or the frame is damaged.
    """
    import zstandard

    assert max(length, len(base)) <= BYTES_MAX
    try:
        if zstandard.frame_content_size(frame) != length:
            raise ValueError("the frame has another length")
        opener = zstandard.ZstdDecompressor(
            dict_data=_dictionary(base), max_window_size=1 << _window_log(length, len(base))
        )
        return opener.decompress(frame)
    except zstandard.ZstdError:
        raise ValueError("the frame cannot be unpacked") from None


def frame_bytes_max(length: int) -> int:
    """Return how many bytes the chunks may have that hold the frame of `length` bytes."""
    # What cannot be packed is hardly longer in a frame. Then follows what fills the last chunk.
    return length + length // 64 + _FILL_BYTES_MAX


def _window_log(length: int, base_length: int) -> int:
    """Return how far back a frame may look: to the first byte of its base."""
    return max(10, (length + base_length).bit_length())


def _dictionary(base: bytes) -> ZstdCompressionDict | None:
    import zstandard

    if not base:
        return None
    return zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
