"""Splits a byte stream into lines with bounded memory."""

from __future__ import annotations

import codecs
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

BOM: Final = codecs.BOM_UTF8
BLOCK_BYTES: Final = 1024 * 1024
TAKE_BYTES_MAX: Final = 32 * BLOCK_BYTES
"""Bound of what is read at once, however many lines are asked for."""


class CutLine(NamedTuple):
    """A line that was too long.

    A prefix, and length and sha256 of the whole.
    """

    prefix: bytes
    length: int
    sha256: str


class LineReader:
    """Reads lines from a stream of bytes.

    A line of more than `line_bytes_max` bytes is given as its first `line_bytes_max + 1` bytes,
    so that a reader with the same bound still sees that it is too long; the rest is hashed and
    dropped. Held in memory: one block and one such prefix.

    Parameters
    ----------
    read:
        Returns up to so many next bytes; None where there are none now, b"" at the end.
    """

    def __init__(self, read: Callable[[int], bytes | None], line_bytes_max: int) -> None:
        self._read = read
        self._line_bytes_max = line_bytes_max
        self._lines: deque[bytes | CutLine] = deque()
        self._rest = b""
        self._begun = False
        self._cut = 0
        self._cut_sha256 = hashlib.sha256()
        self.bytes_read = 0
        self.dry = False
        """Whether the last read gave nothing."""
        self.ended = False
        """Whether the end was read; nothing is read after it."""

    @property
    def ready(self) -> int:
        """The number of complete lines that were read and not taken."""
        return len(self._lines)

    @property
    def pending(self) -> bool:
        """Whether an unfinished line was read."""
        return bool(self._rest or self._cut)

    def fill(self) -> bool:
        """Read one block; False if that brought nothing.

        At the end an unfinished line counts as complete.
        """
        if self.ended:
            return False
        block = self._read(BLOCK_BYTES)
        self.dry = not block
        if not block:
            self.ended = block is not None
            return self.ended and self._finish_last()
        self.bytes_read += len(block)
        first, *others = block.split(b"\n")
        self._hold(first)
        if others:
            self._finish()
            last = others.pop()
            if self._line_bytes_max >= BLOCK_BYTES:
                self._lines.extend(others)
            else:
                for value in others:
                    self._hold(value)
                    self._finish()
            self._hold(last)
        return True

    def take(self, count: int) -> list[bytes | CutLine]:
        """Return up to `count` complete lines, reading as needed until nothing comes.

        Stops early, with at least one line, once `TAKE_BYTES_MAX` bytes were read for it.
        """
        bytes_max = self.bytes_read + TAKE_BYTES_MAX
        while len(self._lines) < count and self.fill():
            if self.bytes_read > bytes_max and self._lines:
                break
        lines = self._lines
        return [lines.popleft() for _ in range(min(count, len(lines)))]

    def skip(self, count: int) -> int:
        """Pass over `count` lines; return how many there were."""
        skipped = 0
        while skipped < count:
            if not self._lines and not self.fill():
                break
            while self._lines and skipped < count:
                self._lines.popleft()
                skipped += 1
        return skipped

    def _hold(self, part: bytes) -> None:
        """Add `part` to the unfinished line, cut at the limit."""
        if self._cut:
            self._cut += len(part)
            self._cut_sha256.update(part)
            return
        self._rest = self._rest + part if self._rest else part
        if len(self._rest) > self._line_bytes_max:
            self._cut = len(self._rest)
            self._cut_sha256 = hashlib.sha256(self._rest)
            self._rest = self._rest[: self._line_bytes_max + 1]

    def _finish_last(self) -> bool:
        """Complete the line that the end leaves unfinished.

        Return whether there is one.
        """
        if not self.pending:
            return False
        self._finish()
        return True

    def _finish(self) -> None:
        """Complete the unfinished line."""
        if self._cut:
            self._lines.append(CutLine(self._rest, self._cut, self._cut_sha256.hexdigest()))
        else:
            # A mark that some editors put at the beginning is no part of the first line.
            self._lines.append(self._rest if self._begun else self._rest.removeprefix(BOM))
        self._begun = True
        self._rest, self._cut = b"", 0
