"""Who was who: what is gone is told from what cannot be opened for now."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ktsafe.state.errors import StateCorrupted
from ktsafe.stream.files.private_history import owners_of


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
