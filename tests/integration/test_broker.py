"""The broker for tests, as far as it can be tested without one."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from ops.broker.broker import Broker, BrokerError, free_ports


def test_free_ports_are_free_and_differ() -> None:
    """Every port can be listened on, and none comes twice."""
    ports = free_ports(4)
    assert len(set(ports)) == 4
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_a_process_id_of_somebody_else(tmp_path: Path) -> None:
    """A number that was given to another process since is not taken for the broker, nor killed."""
    home = tmp_path / "home"
    home.mkdir()
    remembered = {"pid": os.getpid(), "port": 1, "controller_port": 2}
    (home / "broker.json").write_text(json.dumps(remembered))
    broker = Broker(home, libs=tmp_path / "libs")
    assert broker.running() is None
    assert not broker.stop(kill=True)


def test_everything_listens_on_loopback(tmp_path: Path) -> None:
    """The broker, which asks for no password, cannot be reached from outside."""
    properties = Broker(tmp_path, libs=tmp_path).properties(1, 2)
    for name in ("listeners", "advertised.listeners", "controller.quorum.bootstrap.servers"):
        for address in properties[name].split(","):
            assert address.rpartition("//")[2].startswith("127.0.0.1:")


def test_missing_java_and_maven_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine lacks is said with the package to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    broker = Broker(tmp_path, libs=tmp_path)
    with pytest.raises(BrokerError, match="openjdk"):
        broker.start()
    (tmp_path / "java").write_text("#!/bin/sh\n")
    (tmp_path / "java").chmod(0o755)
    with pytest.raises(BrokerError, match="maven"):
        broker.start()
