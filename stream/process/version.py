"""The version of the service, as it was installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def _installed() -> str:
    try:
        return version("ktsafe")
    except PackageNotFoundError:  # Run from a checkout that is not installed.
        return "unknown"


VERSION: Final = _installed()
