"""The [workers] table: what arrives at the mechanism, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.stream.config import settings
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.service import assembly
from tests.stream.config.test_config import changed


def test_every_option_arrives(tmp_path: Path) -> None:
    """Threads reach what makes the releases."""
    found = settings.check(changed("workers", {"threads": 2}), tmp_path, "here")
    assert assembly.workers(found).n_threads == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"threads": 0}, "workers.threads"),
        ({"dask": "tcp://scheduler:8786"}, "TLS"),
        ({"processes": 2}, "processes"),
    ],
)
def test_workers_that_cannot_be(tmp_path: Path, table: dict[str, object], message: str) -> None:
    """No thread at all, and a cluster to which the graph would travel in the open."""
    with pytest.raises(ConfigError, match=message):
        settings.check(changed("workers", table), tmp_path, "here")
