"""A disk of the state without room: the service ends with 5, and waits at its start."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ktsafe.state.database import Database
from ktsafe.state.folder import unusable
from ktsafe.state.store_base import StateFull, StateUnusable
from ktsafe.stream.config import places as private_folder
from ktsafe.stream.errors import Exit, exit_code
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.service import assembly
from tests import running, services
from tests.feeds import fold


def test_no_room_is_told_from_other_faults_of_a_disk(tmp_path: Path) -> None:
    """By errno where the system says it, by its words where RocksDB passes them on."""
    for code, words, kind in (
        (28, "No space left on device", StateFull),
        (122, "Disk quota exceeded", StateFull),
        (13, "Permission denied", StateUnusable),
    ):
        assert type(unusable("open", tmp_path, OSError(code, words))) is kind
        database = Database(tmp_path / words, create=True)

        def refuse(*_: Any, words: str = words) -> None:
            raise Exception(f"IO error: {words}: While appending to file")  # noqa: TRY002

        database.db, real = type("Refusing", (), {"write": refuse})(), database.db
        with pytest.raises(StateUnusable) as refused:
            database.commit(database.batch())
        database.db = real
        database.close()
        assert type(refused.value) is kind
        expected = Exit.UNAVAILABLE if kind is StateFull else Exit.STATE
        assert exit_code(refused.value) == expected


def test_a_service_waits_for_room_at_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens nothing meanwhile, says so each time, and goes on when there is room."""
    events = services.small_feed(people=30, days=20)
    site = running.files_site(tmp_path / "site", [events], services.ATTRIBUTES, "month")
    (site.folder / "state").mkdir()
    free = iter([0, private_folder.ROOM_BYTES_MIN - 1])
    seen = []

    def usage(path: Path) -> SimpleNamespace:
        seen.append(not (path / "store").exists())
        return SimpleNamespace(free=next(free, private_folder.ROOM_BYTES_MIN))

    monkeypatch.setattr(shutil, "disk_usage", usage)
    monkeypatch.setattr(assembly, "ROOM_RETRY_S", 0.01)
    assembly.run_from_settings(site.settings, drain=True, summary=Summary())
    assert seen == [True, True, True]
    assert site.graph() == fold([events], site.settings.schema.attributes)
