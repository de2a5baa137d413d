"""Erasure of people from disk, its proof, and notes against older backups.

Notes lie beside the private folder, which may be lost and restored. A line holds the keyed hash of
an id, by the secret that the store shares with its backups, and when the erasure was: it names
nobody else.

Whatever is kept of people anywhere must be erased here, and `remains` must find it:
tests/stream/maintenance/test_erasure.py looks through every byte. `ERASE_TOPIC` orders stamps and
stands in states: it cannot change. Bounds may be tuned.
"""

from __future__ import annotations

import csv
import os
import re
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ktsafe import sequence as linked
from ktsafe.connectors.letters import unescaped
from ktsafe.sequence.memory.state import META
from ktsafe.state.changes import Stamp, VertexDelete
from ktsafe.state.database import RESTORE, table_rows
from ktsafe.state.folder import sync_folder
from ktsafe.state.keys import log_text
from ktsafe.state.ledger import Erased
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files.private_audits import PARTIAL, check_recorded, finish_rewrites
from ktsafe.stream.files.releases_write import MAPPING, csv_blocks, listed, write_synced
from ktsafe.stream.process.logs import get_logger


class Note(msgspec.Struct, frozen=True):
    """An erasure: the id's keyed hash, and its wall-clock time."""

    alias: str
    at_us: int


def notes_of(private: Path) -> Path:
    """Return where the erasures of a private folder are noted."""
    return private.with_name(f"{private.name}.erased")


def note(private: Path, aliases: Sequence[bytes]) -> bool:
    """Note erasures before they are done; return whether that was possible."""
    at_us = time.time_ns() // 1000
    lines = [msgspec.json.encode(Note(alias.hex(), at_us)) + b"\n" for alias in aliases]
    path = notes_of(private)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError:
        return False
    return True


def noted_since(private: Path, at_us: int) -> list[bytes] | None:
    """Return the keyed hashes of later erasures; None where none was noted."""
    try:
        lines = notes_of(private).read_bytes().splitlines()
        notes = [msgspec.json.decode(line, type=Note) for line in lines]
        found = dict.fromkeys(bytes.fromhex(each.alias) for each in notes if each.at_us >= at_us)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    return list(found)


# Erasure: a deleted person is removed from the private folder too, bytes included.
#
# An event `vertex.delete` takes effect at once in the graph. What was written before lies on disk
# until the store is scrubbed and the mappings of past releases are blanked: at most `within_s`
# seconds later, or right after the next start. A release being built holds its frozen cut until it
# is staged, and erasure waits for that. Backups, the feed itself, and dead letters are out of
# reach.

log = get_logger(__name__)

ERASE_TOPIC: Final = "~erase"
"""Where stamps of erasures by command come from: after every topic, at equal times."""
ALL_LIVES: Final = 2**63 - 1
HOUR_US: Final = 3_600_000_000
LOOK_INTERVAL_S: Final = 1.0
REWRITTEN_AT_ONCE: Final = 64
"""Mappings whose new bytes lie beside the old ones until they are recorded."""
EraseLetters = Callable[[Sequence[str]], int | None]
"""Blanks dead letters that name persons; returns how many, None where they are out of reach."""
NoteErased = Callable[[Sequence[bytes]], bool]
"""Notes the keyed hashes of those who are erased; returns whether that was possible."""


class Eraser:
    """Carries erasure to the disk, at a bounded time after the deletion.

    Parameters
    ----------
    audit_dir:
        The folder of private audits.
    within_s:
        Greatest time from noticing a deletion to erasing it from the disk.
    monotonic:
        A clock in seconds.
    """

    def __init__(
        self,
        store: GraphStore,
        audit_dir: Path,
        *,
        within_s: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._audit_dir = audit_dir
        self._within_s = within_s
        self._monotonic = monotonic
        # What an earlier process left is due now: nobody knows for how long.
        self._due_s: float | None = monotonic() if store.erasures_pending() else None
        self._look_at_s = 0.0

    def overdue_s(self) -> float:
        """Return the seconds that a due erasure has waited, or 0.0."""
        return 0.0 if self._due_s is None else max(0.0, self._monotonic() - self._due_s)

    def advance(self, *, now: bool = False) -> None:
        """Erase due lives; with `now` all that are pending."""
        moment = self._monotonic()
        if moment < self._look_at_s and not now:
            return
        self._look_at_s = moment + LOOK_INTERVAL_S
        if not self._store.erasures_pending():
            self._due_s = None
            return
        if self._due_s is None:
            self._due_s = moment + self._within_s
        if (now or moment >= self._due_s) and self._store.ledger.pending_cut() is None:
            erase_from_disk(self._store, self._audit_dir)
            self._due_s = None
            log.info("deleted persons erased from the disk", seconds=self._monotonic() - moment)


def erase_from_disk(store: GraphStore, audit_dir: Path) -> int:
    """Erase the deleted from mappings and memory, then scrub the store.

    In this order, since the store's count of pending erasures falls with the scrub: a crash in
    between repeats all. Returns the entries blanked.
    """
    assert store.ledger.pending_cut() is None
    store.thaw()  # Its ledger would not fit the mappings any more.
    blanked = blank_mappings(store, audit_dir)
    forget_texts(store)
    store.scrub()
    return blanked


def forget_texts(store: GraphStore) -> None:
    """Take unused attribute texts out of the memory of the sequence.

    Those that a release shows stay: the next one shows them, too.

    Raises
    ------
    StateCorrupted
        If the memory does not read back as written.
    """
    sequence, pages = store.ledger.sequence(), store.ledger.pages()
    if sequence is None or META not in pages:
        return
    try:
        # The memory of every kind of sequence has the same form.
        engine = linked.SequenceEngine.from_pages(pages)
    except linked.SequenceCorrupted as error:
        raise StateCorrupted("read the sequence", "the ledger's pages", RESTORE) from error
    engine.forget_with(sequence.text_key())
    engine.forget_texts(store.lives())
    store.ledger.replace_pages(engine.pages())


def erase_persons(store: GraphStore, ids: Sequence[str], audit_dir: Path) -> int:
    """Delete persons by command and erase them from the disk at once.

    The deletion holds at the greatest event time accepted so far: it covers all that was read, and
    what comes later brings the person back, as after a `vertex.delete` in the feed. A pending cut
    is given up, since its frozen state shows them.

    Returns
    -------
    int
        The entries blanked in mappings of past releases.
    """
    clocks = [position.time_us_max for position in store.positions().values()]
    time_us = max((clock for clock in clocks if clock is not None), default=0)
    left, step_us = list(ids), 0
    store.ledger.drop_cut()
    while left:
        # Events ahead of their feed move no clock: so is the deletion of their person.
        _erase_at(store, left, time_us + step_us)
        still = store.gone(left, ALL_LIVES)
        left = [person for person, is_gone in zip(left, still, strict=True) if not is_gone]
        step_us = max(2 * step_us, HOUR_US)
    return erase_from_disk(store, audit_dir)


def erase_again(store: GraphStore, erased: Sequence[Erased]) -> None:
    """Repeat what commands erased, for a state made from the feed.

    A person that is not in the graph stays out of it. The disk follows as after any deletion.
    """
    store.ledger.note_erased(erased)
    found = store.people_behind([bytes.fromhex(each.alias) for each in erased])
    for each, person in zip(erased, found, strict=True):
        if person is not None:
            store.commit([_deletion(person, each.time_us)], {})


def _erase_at(store: GraphStore, ids: Sequence[str], time_us: int) -> None:
    """Delete persons by command; noted first, as no feed tells of it."""
    store.ledger.note_erased(
        [Erased(alias.hex(), time_us) for alias in map(store.alias, ids)],
    )
    store.commit([_deletion(person, time_us) for person in ids], {})


def _deletion(person: str, time_us: int) -> VertexDelete:
    return VertexDelete(Stamp(time_us, ERASE_TOPIC, 0, 0), person)


class ErasureReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an erasure of people; letters in a topic are None."""

    asked: int
    erased: int
    unknown: int
    mapping_entries_blanked: int
    dead_letters_blanked: int | None
    release_given_up: bool
    noted: bool


def erase_everywhere(
    store: GraphStore,
    ids: Sequence[str],
    audit_dir: Path,
    erase_letters: EraseLetters,
    note_erased: NoteErased,
) -> ErasureReport:
    """Erase people from graph, mappings, dead letters and the disk."""
    noted = note_erased([store.alias(person) for person in ids])
    unknown = sum(store.gone(ids, ALL_LIVES))
    had_cut = store.ledger.pending_cut() is not None
    letters = erase_letters(ids)
    blanked = erase_persons(store, ids, audit_dir)
    return ErasureReport(
        asked=len(ids),
        erased=len(ids) - unknown,
        unknown=unknown,
        mapping_entries_blanked=blanked,
        dead_letters_blanked=letters,
        release_given_up=had_cut,
        noted=noted,
    )


def blank_mappings(store: GraphStore, audit_dir: Path) -> int:
    """Remove the people deleted since from the mappings of past releases.

    The row of the person stays, with an empty id. New mappings are written beside the old ones,
    recorded, and put in their place: see `ktsafe.stream.files.private_audits`.

    Raises
    ------
    StateCorrupted
        If a mapping is not as it was written: it is not recorded as if it were.
    """
    records = {record.release_id: record for record in store.ledger.releases()}
    finish_rewrites(records.values(), audit_dir)
    paths, blanked = sorted(audit_dir.glob(f"*/{MAPPING}")), 0
    lives = store.people() if paths else {}
    for start in range(0, len(paths), REWRITTEN_AT_ONCE):
        changed: dict[str, dict[str, str]] = {}
        for path in paths[start : start + REWRITTEN_AT_ONCE]:
            record = records.get(path.parent.name)
            if record is not None:
                check_recorded(record, audit_dir)
            n_lives = ALL_LIVES if record is None else record.n_lives
            n_blanked, digest = _blank(path, lives, n_lives)
            if n_blanked:
                blanked += n_blanked
                changed[path.parent.name] = {MAPPING: digest}
        store.ledger.record_audits(changed)
        for name in changed:
            path = audit_dir / name / MAPPING
            path.with_name(MAPPING + PARTIAL).replace(path)
            sync_folder(path.parent)
    return blanked


def _blank(path: Path, lives: Mapping[str, int], n_lives: int) -> tuple[int, str]:
    """Write a mapping without the deleted; return blanked entries and sha256."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, strict=True)
    except (ValueError, csv.Error) as error:
        subject = f"the private audit of {path.parent.name} ({MAPPING})"
        raise StateCorrupted("read the mapping", subject, RESTORE) from error
    named = [row for row in rows if row[1]]
    gone = [lives.get(row[1], n_lives) >= n_lives for row in named]
    for row, is_gone in zip(named, gone, strict=True):
        if is_gone:
            row[1] = ""
    if not any(gone):
        return 0, ""
    partial = path.with_name(MAPPING + PARTIAL)
    return sum(gone), write_synced(partial, csv_blocks(header, listed(len(header), rows)))


# Remains of persons and values in a private folder, byte by byte.
#
# Bytes are read as they are; tables of the database decompressed, row by row, also what was
# overwritten; its log without the headers that cut texts in pieces; and all of it as JSON, CSV and
# base64 would be read. What is stored as a keyed hash is not found: it names nobody.
#
# Digests, published ids and what is encrypted are random letters, and a short id stands among them
# now and then; so it does in what becomes of a word that is read as base64. Such a place is told
# apart, since it says nothing of the person.

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{8,}={0,2}")
DEPTH_MAX: Final = 3
"""So many encodings inside each other are undone."""
SHORT_BYTES: Final = 8
"""A longer text does not stand among random letters by chance."""
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]{16,}")
_HEX: Final = re.compile(rb"[0-9a-f]+")
_MIXED: Final = (re.compile(rb"[A-Z]"), re.compile(rb"[a-z]"), re.compile(rb"[0-9]"))
_MIXED_BYTES: Final = 64
_READABLE: Final = re.compile(rb"[\t\n\r\x20-\x7e]")


class Remains(NamedTuple):
    """How many of some ids or values are left, by file.

    Finds that chance explains are counted apart.
    """

    left: dict[str, int]
    chance: dict[str, int]


def remains(texts: Sequence[str], folders: Iterable[Path]) -> Remains:
    """Return how many of some ids or values are left, by file.

    Parameters
    ----------
    folders:
        Folders that are read with all below them, or single files.

    Raises
    ------
    OSError
        If a file cannot be read.
    StateCorrupted
        If a table does not read back as written.
    """
    words = {text.encode(errors="surrogatepass") for text in texts}
    found: Remains = Remains({}, {})
    for path in (path for folder in folders for path in _files(folder)):
        seen: set[bytes] = set()
        left: set[bytes] = set()
        for data in _contents(path):
            for reading, is_noise in _readings(data):
                here = {word for word in words - left if word in reading}
                seen |= here
                left |= {word for word in here if len(word) > SHORT_BYTES}
                if here - left and not is_noise:
                    sense = _without_noise(reading, here)
                    left |= {word for word in here if word in sense}
        if left:
            found.left[str(path)] = len(left)
        if by_chance := seen - left:
            found.chance[str(path)] = len(by_chance)
    return found


def _readings(
    data: bytes, depth: int = DEPTH_MAX, *, is_noise: bool = False
) -> Iterator[tuple[bytes, bool]]:
    """Yield bytes as they are and decoded, and whether each is noise.

    JSON, CSV and base64 are decoded.
    """
    yield data, is_noise
    if not depth:
        return
    for inner in {unescaped(data), data.replace(b'""', b'"')} - {data}:
        yield from _readings(inner, depth - 1, is_noise=is_noise)
    for run in set(_runs(data)):
        inner = b64decode(run + b"=" * (-len(run) % 4))
        is_none = is_noise or not _is_base64(run, inner)
        yield from _readings(inner, depth - 1, is_noise=is_none)


def _without_noise(data: bytes, words: set[bytes]) -> bytes:
    """Return bytes without runs of random letters.

    Words are a part of those only by chance.
    """

    def kept(found: re.Match[bytes]) -> bytes:
        run = found[0]
        return run if run in words or not _is_random(run) else b"\n"

    return _RUN.sub(kept, data)


def _is_random(run: bytes) -> bool:
    """Whether a run looks like a digest, published id, or ciphertext."""
    is_mixed = len(run) >= _MIXED_BYTES and all(kind.search(run) for kind in _MIXED)
    return is_mixed or _HEX.fullmatch(run) is not None


def _is_base64(run: bytes, undone: bytes) -> bool:
    """Whether a run was encoded text, not a word or digest.

    Nor something encrypted.
    """
    if not all(kind.search(run) for kind in _MIXED[:2]):
        return False
    return 2 * len(_READABLE.findall(undone)) >= len(undone)


def _runs(data: bytes) -> Iterator[bytes]:
    """Yield what may be base64."""
    for run in _BASE64.findall(data):
        bare = run.rstrip(b"=")
        if len(bare) % 4 != 1:
            yield bare


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _contents(path: Path) -> Iterator[bytes]:
    """Yield what a file holds, in parts that are whole texts."""
    if path.suffix == ".sst":
        for key, value in table_rows(path):
            yield key
            yield value
        return
    data = path.read_bytes()
    yield data
    if path.suffix == ".log" and path.stem.isdigit():
        yield log_text(data)
