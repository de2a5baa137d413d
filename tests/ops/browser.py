"""Drives a headless Chromium by the WebDriver protocol, with nothing but the standard library.

Debian's `chromium-driver` brings both programs.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.ops.tools import tool

DEADLINE_S = 60.0
# Tests run as root in containers, where Chromium's own sandbox cannot; pages are our own.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
ARGUMENTS += ["--no-proxy-server", "--hide-scrollbars", "--no-first-run"]


class Browser:
    """One window, its size and colours chosen by the caller."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        options = {"args": ARGUMENTS, "perfLoggingPrefs": {"enableNetwork": True}}
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": logs,
        }
        made = self._post("/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def look(
        self,
        width: int,
        height: int,
        colours: Literal["light", "dark"] = "light",
        media: Literal["screen", "print"] = "screen",
    ) -> None:
        """Take a screen, or a sheet of paper, of this size; narrow ones are those of phones."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._cdp("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": colours}]
        self._cdp("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def header(self, name: str, value: str) -> None:
        """Send a header with every request."""
        self._cdp("Network.enable", {})
        self._cdp("Network.setExtraHTTPHeaders", {"headers": {name: value}})

    def open(self, url: str) -> None:
        """Open a page and wait until it is complete."""
        self._post(f"{self._session}/url", {"url": url})

    def ask(self, script: str) -> Any:
        """Return what a script computes in the page."""
        body = {"script": f"return {script}", "args": []}
        return self._post(f"{self._session}/execute/sync", body)

    def complaints(self) -> list[str]:
        """Return what the console of the page says since the last call."""
        return [entry["message"] for entry in self._logged("browser")]

    def requested(self) -> list[str]:
        """Return the addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self._logged("performance")]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page, by default of all of it."""
        shot = {"format": "png", "captureBeyondViewport": whole}
        path.write_bytes(base64.b64decode(self._cdp("Page.captureScreenshot", shot)["data"]))

    def printed(self) -> bytes:
        """Return the page as a PDF, on the paper that its style asks for."""
        wanted = {"preferCSSPageSize": True, "printBackground": True}
        return base64.b64decode(self._cdp("Page.printToPDF", wanted)["data"])

    def close(self) -> None:
        """End the browser."""
        self._call("DELETE", self._session, None)

    def _cdp(self, command: str, parameters: dict[str, Any]) -> Any:
        body = {"cmd": command, "params": parameters}
        return self._post(f"{self._session}/goog/cdp/execute", body)

    def _logged(self, kind: str) -> list[Any]:
        entries: list[Any] = self._post(f"{self._session}/se/log", {"type": kind})
        return entries

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", path, json.dumps(body).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(f"{self._driver}{path}", body, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:  # noqa: S310
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Give a browser; skips where there is none, and fails there in CI."""
    driver = tool("chromedriver")
    log = folder / "chromedriver.txt"
    with log.open("wb") as output:
        process = subprocess.Popen([driver, "--port=0"], stdout=output, stderr=output)
    opened = None
    try:
        opened = Browser(_address(process, log))
        yield opened
    finally:
        if opened is not None:
            opened.close()
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        if found := re.search(r"started successfully on port (\d+)", log.read_text()):
            return f"http://127.0.0.1:{found[1]}"
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


# The contrast of two computed colours, as WCAG 2.2 defines it.
CONTRAST = """(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('body, body *')]
    .filter(node => [...node.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
    .map(node => {
      const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 80)];
    });
})()"""
