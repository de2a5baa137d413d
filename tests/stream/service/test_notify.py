"""What the service manager hears."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktsafe.stream.observer import NOTICES
from ktsafe.stream.service.assembly import PER_WATCHDOG, Notifier
from tests.service_manager import Manager


@pytest.fixture(params=["file", "abstract"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Manager, str]]:
    """Give a manager and the name it goes by."""
    if request.param == "file":
        name = address = str(tmp_path / "notify")
    else:
        name = f"@ktsafe-{os.getpid()}"
        address = "\0" + name[1:]
    manager = Manager(address)
    yield manager, name
    manager.close()


def test_readiness_and_end_are_told(place: tuple[Manager, str]) -> None:
    """The manager hears when the service consumes and when it stops, and nothing before."""
    manager, name = place
    environment = {"NOTIFY_SOCKET": name, "PATH": "x"}
    notifier = Notifier(environment)
    assert environment == {"PATH": "x"}
    notifier.alive()
    assert manager.heard() == []
    notifier.ready(is_ready=True)
    notifier.ready(is_ready=False)
    assert [text.splitlines()[0] for text in manager.heard()] == ["READY=1", "STOPPING=1"]


@pytest.mark.parametrize("pid", ["", str(os.getpid())], ids=["anybody", "this process"])
def test_the_watchdog_is_fed_by_the_loop_in_time(place: tuple[Manager, str], pid: str) -> None:
    """However often the loop goes round, the manager hears it a few times per period."""
    manager, name = place
    now = [0.0]
    environment = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": pid}
    notifier = Notifier(environment, monotonic_s=lambda: now[0])
    heard = []
    for _ in range(600):  # A minute, ten rounds a second; read so that no queue fills up.
        notifier.alive()
        now[0] += 0.1
        heard += manager.heard()
    assert set(heard) == {"WATCHDOG=1"}
    assert 2 * PER_WATCHDOG - 1 <= len(heard) <= 2 * PER_WATCHDOG
    assert manager.heard() == []


@pytest.mark.parametrize(
    "environment",
    [
        {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {},
    ],
)
def test_a_watchdog_of_somebody_else_is_not_fed(
    place: tuple[Manager, str], environment: dict[str, str]
) -> None:
    """The watchdog of another process, or none, hears nothing."""
    manager, name = place
    Notifier({**environment, "NOTIFY_SOCKET": name}).alive()
    assert manager.heard() == []


@pytest.mark.parametrize("name", ["", "relative/socket", "/nowhere/at/all"])
def test_without_a_manager_nothing_happens(name: str) -> None:
    """No socket, one that is no address, or one that nobody listens on: the service goes on."""
    notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1"})
    notifier.ready(is_ready=True)
    notifier.alive()


def test_it_is_an_observer_like_others() -> None:
    """Every notice of the observer can be passed to it."""
    assert all(callable(getattr(Notifier({}), name)) for name in NOTICES)
