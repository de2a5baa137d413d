"""Runs a Prometheus server beside a service and asks it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.ops import dashboards
from tests.ops.service import RunningService
from tests.ops.tools import tool

DEADLINE_S = 90.0


class Prometheus:
    """A running Prometheus server."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._process = process
        self._log = log

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an API call; None while it does not answer."""
        url = f"{self._base}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
                return None  # It listens before it has opened its storage.
            msg = f"{parameters}: {error.read().decode()}"
            raise AssertionError(msg) from None
        except OSError:
            assert self._process.poll() is None, self._log.read_text()
            return None

    def samples(self, expression: str) -> list[Any]:
        """Return what an expression evaluates to now."""
        data = self.get("/api/v1/query", query=expression)
        assert data is not None
        result: list[Any] = data["result"]
        return result

    def series(self, expression: str, start: float, end: float, step: float) -> list[Any]:
        """Return what an expression evaluated to over a time."""
        bounds = {"start": str(start), "end": str(end), "step": str(step)}
        data = self.get("/api/v1/query_range", query=expression, **bounds)
        assert data is not None
        result: list[Any] = data["result"]
        return result


@contextmanager
def scraping(service: RunningService, folder: Path) -> Iterator[Prometheus]:
    """Run Prometheus with our configuration, pointed at a running service and sped up."""
    binary = tool("prometheus")
    (folder / "token").write_text(service.token)
    config = folder / "prometheus.yml"
    config.write_text(_config(service.url, folder / "token"), encoding="utf-8")
    port = _free_port()
    command = [
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield Prometheus(port, process, log)
    finally:
        process.kill()
        process.wait()


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.2)


def _config(url: str, token: Path) -> str:
    text = dashboards.CONFIG.read_text(encoding="utf-8")
    text = re.sub(r"(scrape|evaluation)_interval: 15s", r"\1_interval: 1s", text)
    text = re.sub(
        r"(\n +)# authorization:\n +#   credentials_file: .*",
        rf"\1authorization:\1  credentials_file: {token}",
        text,
    )
    assert str(token) in text
    text = text.replace("127.0.0.1:9464", url.removeprefix("http://"))
    return text.replace("rules/*.yml", str(dashboards.RULES.parent / "*.yml"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
