"""The command line with other constants than the program's, for services as processes.

python -m tests.launcher '{"ingest": {"batch_records_max": 500}}' run ktsafe.toml
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest import mock

from ktsafe.stream import cli  # settles where kernels are kept, before one is imported
from ktsafe.stream.config import settings
from ktsafe.stream.service import assembly

Overrides = Mapping[str, Mapping[str, Any]]

MADE: Final = {
    "ingest": (assembly, "IngestSettings"),
    "sequence": (settings, "SequenceOptions"),
}
"""By name: where the program makes settings from constants and the configuration."""


@contextmanager
def overridden(overrides: Overrides) -> Iterator[None]:
    """Let settings have other values for a while, in this process."""
    with ExitStack() as stack:
        for name, values in overrides.items():
            module, made = MADE[name]
            with_values = _with(values, getattr(module, made))
            stack.enter_context(mock.patch.object(module, made, with_values))
        yield


def _with(values: Mapping[str, Any], make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **given: make(**{**given, **values})


if __name__ == "__main__":
    with overridden(json.loads(sys.argv.pop(1))):
        cli.main()
