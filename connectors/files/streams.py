"""Streams of lines from plain files, compressed files and pipes.

Sizes of blocks may be tuned: tests/connectors/test_lines.py holds that lines do not depend on them.
Which bytes are a line settles offsets, and `HEAD_BYTES` the identity of a feed: both stand in
states.
"""

from __future__ import annotations

import abc
import codecs
import gzip
import hashlib
import os
import select
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from ktsafe.connectors.base import Misconfigured, SourceMismatch

HEAD_BYTES: Final = 4096


class Stream(abc.ABC):
    """Lines of one file or pipe, read once from front to back."""

    once = False
    """Whether what was read cannot be read again."""

    def __init__(self, path: str, line_bytes_max: int) -> None:
        self._path = path
        self._lines = LineReader(self._read, line_bytes_max)

    def take(self, count: int) -> list[bytes | CutLine]:
        """Return up to `count` next lines, without waiting."""
        return self._lines.take(count)

    def skip(self, count: int) -> int:
        """Pass over `count` lines, which reads them once.

        Return how many there were.
        """
        return self._lines.skip(count)

    def wait(self, seconds: float) -> None:  # noqa: B027 -- most need not wait
        """Wait until there may be something to take, at most so long.

        Files are not waited for.
        """

    @abc.abstractmethod
    def at_end(self) -> bool:
        """Whether all lines that exist now were taken.

        For a final file or a closed pipe, all.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abc.abstractmethod
    def _read(self, count: int) -> bytes | None:
        """Return up to so many next bytes.

        None where there are none now, b"" at the end.
        """


def open_stream(path: str, *, follow: bool, line_bytes_max: int) -> Stream:
    """Open a file by its name, or standard input for "-".

    Raises
    ------
    Misconfigured
        If there is no such file, or it cannot be read.
    """
    if path == "-":
        return PipeStream(path, sys.stdin.fileno(), line_bytes_max)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISREG(mode):
            if path.endswith(".gz"):
                return CompressedStream(path, line_bytes_max)
            return PlainStream(path, line_bytes_max, follow=follow)
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode):
            # Without O_NONBLOCK, opening a pipe would wait for its writer.
            return PipeStream(path, os.open(path, os.O_RDONLY | os.O_NONBLOCK), line_bytes_max)
    except OSError as error:
        hint = f"cannot be read ({error.strerror}). Check the path and its permissions."
        raise Misconfigured("open source", path, hint) from None
    raise Misconfigured("open source", path, "is not a file. Name an event file, or '-'.")


class PlainStream(Stream):
    """An uncompressed file, which may grow if it is followed.

    Then its last line waits.
    """

    def __init__(self, path: str, line_bytes_max: int, *, follow: bool) -> None:
        super().__init__(path, line_bytes_max)
        self._follow = follow
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 -- closed by close()

    def take(self, count: int) -> list[bytes | CutLine]:
        """Return next lines; a followed file must not have become shorter."""
        lines = super().take(count)
        if self._follow and len(lines) < count and self._lines.dry:
            self._check_length()
        return lines

    def at_end(self) -> bool:
        """Whether all complete lines were taken."""
        if self._lines.ready or (self._lines.pending and not self._follow):
            return False
        return self._lines.ended or self._length() == self._lines.bytes_read

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, count: int) -> bytes | None:
        block: bytes = self._file.read(count) or b""
        # A followed file has no end.
        return None if self._follow and not block else block

    def _length(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _check_length(self) -> None:
        if self._length() < self._lines.bytes_read:
            hint = (
                "it became shorter while it was followed. Append only; rotate by adding a new file "
                "at the end of the list."
            )
            raise SourceMismatch("read source", self._path, hint)


class CompressedStream(Stream):
    """A gzip file, always final."""

    def __init__(self, path: str, line_bytes_max: int) -> None:
        super().__init__(path, line_bytes_max)
        self._file = gzip.open(path, "rb")  # noqa: SIM115 -- closed by close()

    def at_end(self) -> bool:
        """Whether all lines were taken.

        Known only once a read came back empty.
        """
        if not self._lines.ready and not self._lines.pending:
            self._lines.fill()
        return self._lines.ended and not self._lines.ready

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, count: int) -> bytes:
        try:
            return self._file.read(count)
        except (OSError, EOFError, zlib.error) as error:
            hint = f"is not an intact gzip file ({type(error).__name__}). Compress it again."
            raise Misconfigured("read source", self._path, hint) from None


class PipeStream(Stream):
    """Standard input or a named pipe: read once."""

    once = True

    def __init__(self, path: str, descriptor: int, line_bytes_max: int) -> None:
        super().__init__(path, line_bytes_max)
        self._descriptor = descriptor

    def skip(self, count: int) -> int:
        """Pass over nothing: what was taken before does not come again."""
        return count

    def at_end(self) -> bool:
        """Whether the writer closed the pipe and all lines were taken."""
        return self._lines.ended and not self._lines.ready

    def wait(self, seconds: float) -> None:
        """Wait for the writer."""
        select.select([self._descriptor], [], [], seconds)

    def close(self) -> None:
        """Close the pipe, unless it is standard input, which is not ours."""
        if self._path != "-" and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self, count: int) -> bytes | None:
        if not select.select([self._descriptor], [], [], 0)[0]:
            return None
        try:
            return os.read(self._descriptor, count)
        except BlockingIOError:
            return None


def head_digest(path: Path) -> str | None:
    """Return "<n>:<sha256 of the first n bytes>", n at most 4096.

    None for an empty file.
    """
    head = _head(path, HEAD_BYTES)
    return f"{len(head)}:{hashlib.sha256(head).hexdigest()}" if head else None


def same_head(path: Path, stored: str) -> bool:
    """Whether the file begins with the bytes that `stored` (from `head_digest`) describes."""
    length = int(stored.partition(":")[0])
    head = _head(path, length)
    return stored == f"{len(head)}:{hashlib.sha256(head).hexdigest()}"


def _head(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)


# Splits a byte stream into lines with bounded memory.

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
