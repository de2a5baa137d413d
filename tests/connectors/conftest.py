"""What tests of connectors share."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.connectors.snapshots import QueriedDatabase
from tests.connectors.asked_network import Network


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    found = Network(tmp_path)
    monkeypatch.setenv("NETWORK_URL", f"sqlite:///{found.path}")
    real = QueriedDatabase.write

    def write(self: QueriedDatabase, folder: Path) -> None:
        found.before_write()
        real(self, folder)
        found.answers.append(found.graph())
        found.change()
        found.after_write()

    monkeypatch.setattr(QueriedDatabase, "write", write)
    return found
