"""Who was who: what is gone is told from what cannot be opened for now."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files.private_audits import PARTIAL, check_recorded, finish_rewrites, owners_of


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.EMFILE, OSError), (errno.ENOENT, StateCorrupted), (errno.EIO, StateCorrupted)],
)
def test_a_mapping_is_lost_only_if_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception]
) -> None:
    """While no file can be opened nobody is told to restore a backup: it is tried again."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, "planned by a test")

    monkeypatch.setattr(Path, "open", refuse)
    record: Any = SimpleNamespace(release_id="000001-20260101T000000Z", n_vertices=1)
    with pytest.raises(kind):
        owners_of(record, tmp_path)


@pytest.mark.parametrize("n_vertices", [1, 3])
def test_a_mapping_of_more_or_fewer_vertices_is_lost(tmp_path: Path, n_vertices: int) -> None:
    """It is that of another release."""
    (tmp_path / "000001").mkdir()
    rows = b"released_id,original_id\r\na,ann\r\nb,\r\n"
    (tmp_path / "000001/mapping.csv").write_bytes(rows)
    record: Any = SimpleNamespace(release_id="000001", n_vertices=n_vertices)
    with pytest.raises(StateCorrupted):
        owners_of(record, tmp_path)


OLD, NEW = b"released_id,original_id\r\na,ann\r\n", b"released_id,original_id\r\na,\r\n"


@pytest.mark.parametrize("recorded", [OLD, NEW])
@pytest.mark.parametrize("length", range(len(NEW) + 1))
def test_a_rewrite_that_a_crash_cut_short_is_never_taken(
    tmp_path: Path, recorded: bytes, length: int
) -> None:
    """Whatever was written of it: the mapping is the one that the ledger has, and nothing else.

    Those of the releases beside it were whole, and take their places.
    """
    records: list[Any] = []
    cases = [(NEW, NEW), (recorded, NEW[:length]), (NEW, NEW)]
    for number, (told, written) in enumerate(cases):
        folder = tmp_path / f"00000{number}"
        folder.mkdir()
        (folder / "mapping.csv").write_bytes(OLD)
        (folder / f"mapping.csv{PARTIAL}").write_bytes(written)
        audit = {"mapping.csv": hashlib.sha256(told).hexdigest()}
        records.append(SimpleNamespace(release_id=folder.name, audit=audit))
    is_whole = recorded == OLD or length == len(NEW)
    if is_whole:
        check_recorded(records[1], tmp_path)
    finish_rewrites(records, tmp_path)
    found = [path.read_bytes() for path in sorted(tmp_path.glob("*/mapping.csv"))]
    assert found == [NEW, recorded if is_whole else OLD, NEW]
    assert not list(tmp_path.glob(f"*/*{PARTIAL}"))
