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


OLD, NEW = b"released_id,original_id\r\na,ann\r\n", b"released_id,original_id\r\na,\r\n"


@pytest.mark.parametrize("recorded", [OLD, NEW])
@pytest.mark.parametrize("length", range(len(NEW) + 1))
def test_a_rewrite_that_a_crash_cut_short_is_never_taken(
    tmp_path: Path, recorded: bytes, length: int
) -> None:
    """Whatever was written of it: the mapping is the one that the ledger has, and nothing else."""
    folder = tmp_path / "000001"
    folder.mkdir()
    mapping, partial = folder / "mapping.csv", folder / f"mapping.csv{PARTIAL}"
    mapping.write_bytes(OLD)
    partial.write_bytes(NEW[:length])
    digest = hashlib.sha256(recorded).hexdigest()
    record: Any = SimpleNamespace(release_id=folder.name, audit={mapping.name: digest})
    is_whole = recorded == OLD or length == len(NEW)
    if is_whole:
        check_recorded(record, tmp_path)
    finish_rewrites([record], tmp_path)
    assert mapping.read_bytes() == (recorded if is_whole else OLD)
    assert not partial.exists()
