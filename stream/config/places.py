"""Places of a configured service, and its releases' promise."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ktsafe.stream.config.settings import Settings
from ktsafe.stream.process.private_folder import AUDIT

PROMISE: Final = "all releases of a sequence are safe together"


def private_folder(settings: Settings) -> Path:
    """Return the private folder of the true graph and derived data."""
    return settings.path(settings.config.state.folder)


def audit_folder(settings: Settings) -> Path:
    """Return the folder of the private audits of releases."""
    return private_folder(settings) / AUDIT


def by_name(settings: Settings) -> dict[str, str]:
    """Return where a service's things are, by name, for people."""
    config = settings.config
    found = {
        "releases": config.sink.place(settings.site),
        "dead": config.dead_letters.place(settings.site),
    }
    found["private"] = f"{private_folder(settings)} (true graph, mappings, audits: never publish)"
    if config.metrics.enabled:
        port = config.metrics.port or "(a free port, see the log)"
        found["status"] = f"http://{config.metrics.host}:{port}/, while it runs"
    return found
