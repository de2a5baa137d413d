"""A service that reads dumps as they come publishes each at its own slot."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings as configuration
from ktsafe.stream.errors import Exit
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.service import assembly
from tests.stream.commands.test_next import DATES, SCHEMA, SERVICE, bytes_of, dumps, feed


def service(folder: Path, dumps: str) -> Path:
    """Write the configuration of a service that reads dumps."""
    folder.mkdir()
    config = folder / "ktsafe.toml"
    source = f'[source]\nkind = "snapshots"\nfolder = "{dumps}"'
    config.write_text(f"{SCHEMA}\n{SERVICE}\n{source}\n", encoding="utf-8")
    return config


def test_a_release_does_not_wait_for_the_next_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that goes on publishes each slot when its dump is there: the drained bytes."""
    dumps(tmp_path / "dumps", feed())
    drained = service(tmp_path / "drained", "../dumps")
    assert run_command(["run", str(drained), "--drain"]) == Exit.OK
    expected = bytes_of(tmp_path / "drained" / "releases")
    assert len(expected) == len(DATES)
    config = service(tmp_path / "running", "dumps")
    (tmp_path / "running" / "dumps").mkdir()
    releases = tmp_path / "running" / "releases"
    monkeypatch.setattr(assembly, "stop_on_signals", _Stop)
    settings = configuration.load(config)
    thread = threading.Thread(
        target=lambda: assembly.run_from_settings(settings, drain=False, summary=Summary())
    )
    thread.start()
    try:
        for date in DATES:
            (tmp_path / "dumps" / date).rename(tmp_path / "running" / "dumps" / date)
            name = next(name for name in expected if date.replace("-", "") in name)
            while not (releases / name).is_dir():
                assert thread.is_alive()
                time.sleep(0.05)
    finally:
        _Stop.event.set()
        thread.join()
        logging.getLogger().setLevel(logging.WARNING)
    assert bytes_of(releases) == expected


class _Stop:
    """Stands for signals, which only the main thread gets."""

    event = threading.Event()

    def __enter__(self) -> threading.Event:
        return self.event

    def __exit__(self, *_: object) -> None:
        pass
