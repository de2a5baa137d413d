"""Pictures of the dashboards' data, from a real run of some minutes.

    python -m tests.ops.screenshots FOLDER

A service follows a generated feed that grows while it runs, Prometheus scrapes it, Chromium takes
the pictures. Dashboards are drawn by `tests.ops.dashboard_page`, not by Grafana.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.ops import dashboards
from tests.ops.browser import Browser, browser
from tests.ops.dashboard_page import Span, dashboard_page
from tests.ops.prometheus import Prometheus, scraping
from tests.ops.service import RunningService

PEOPLE, DAYS = 900, 365
PORTIONS = 90
PAUSE_S = 2.0
DESKTOP = (1200, 900)


def main(folder: Path) -> None:
    """Run the service, then take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ktsafe-screenshots-") as scratch:
        home = Path(scratch)
        service = RunningService(home / "site", every="2w", people=PEOPLE, days=DAYS)
        service.guard("of these pictures only")
        (home / "prometheus").mkdir()
        with service.running(), scraping(service, home / "prometheus") as server:
            started = time.time()
            portion = len(service.events) // 2 // PORTIONS + 1
            for _ in range(PORTIONS):
                service.go_on(portion)
                time.sleep(PAUSE_S)
            service.complain()  # A problem is worth a picture, too.
            time.sleep(PAUSE_S * 15)
            with browser(home) as window:
                take(window, service, server, Span(started, time.time()), folder)


def take(
    window: Browser, service: RunningService, server: Prometheus, span: Span, folder: Path
) -> None:
    """Write every picture."""
    window.look(*DESKTOP)
    for dashboard in dashboards.dashboards():
        page = Path(tempfile.gettempdir()) / f"{dashboard['uid']}.html"
        page.write_text(dashboard_page(dashboard, server, span), encoding="utf-8")
        window.open(page.as_uri())
        window.screenshot(folder / f"{dashboard['uid']}.png")
        page.unlink()
    releases = service.report()["releases"]
    print(
        json.dumps(
            {"releases": len(releases), "pictures": sorted(p.name for p in folder.iterdir())}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
