"""Pictures of reports: of the demo, and of a data set in a folder if one is named.

    python -m tests.ops.report_screenshots FOLDER [DATA]

DATA holds `vertices.csv`, `edges.csv` and `schema.toml`; its report is pictured in dark colours,
and named after the folder.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests.ops.browser import Browser, browser

DESKTOP, PHONE, PAPER = (1200, 1300), (390, 1500), (794, 1123)


def main(folder: Path, data: Path | None) -> None:
    """Make the reports, then take the pictures of their beginnings."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ktsafe-reports-") as scratch:
        home = Path(scratch)
        assert run_command(["demo", "--dir", str(home / "var"), "--port", "0"]) == Exit.OK
        report = home / "var" / "demo" / "report.html"
        with browser(home) as window:
            take(window, report, folder / "report.png", DESKTOP)
            take(window, report, folder / "report-phone.png", PHONE)
            take(window, report, folder / "report-paper.png", PAPER, media="print")
            if data is not None:
                made = anonymized(data, home)
                name = f"report-{data.name}-dark.png"
                take(window, made, folder / name, DESKTOP, colours="dark")


def anonymized(data: Path, home: Path) -> Path:
    """Anonymize a data set and return its report."""
    names = {"vertices": "vertices.csv", "edges": "edges.csv", "schema": "schema.toml"}
    words = ["anonymize", "--seed", "0", "--out", str(home / data.name)]
    words += [word for name, file in names.items() for word in (f"--{name}", str(data / file))]
    words += ["--audit", str(home / "private"), "--report", str(home / "report.html")]
    assert run_command(words) == Exit.OK
    return home / "report.html"


def take(window: Browser, page: Path, picture: Path, size: tuple[int, int], **look: str) -> None:
    """Write a picture of the beginning of a page."""
    window.look(*size, **look)  # type: ignore[arg-type]
    window.open(page.as_uri())
    window.screenshot(picture, whole=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
