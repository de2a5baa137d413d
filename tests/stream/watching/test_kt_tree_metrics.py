"""The service in its default configuration keeps a kt-tree with pivots from release to release."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ktsafe.datasets import SOCIAL_FEED_SCHEMA, social_feed
from stream.config import settings as config
from stream.service import assembly
from stream.watching.metrics import PrometheusMetrics
from stream.watching.summary import Summary
from stream.watching.watching import status_server


@pytest.fixture
def kept_metrics(monkeypatch: pytest.MonkeyPatch) -> list[PrometheusMetrics]:
    """Keep the metrics of services that are run in this process."""
    kept: list[PrometheusMetrics] = []

    def keep(*given):
        kept.append((found := status_server(*given))[0])
        return found

    monkeypatch.setattr(assembly, "status_server", keep)
    monkeypatch.setattr(assembly.logs, "configure", lambda **_: None)
    monkeypatch.setattr(assembly.logs, "install_crash_hooks", lambda: None)
    return kept


def test_pivots_are_cached_and_the_kt_tree_follows_who_waits(
    tmp_path: Path, kept_metrics: list[PrometheusMetrics]
) -> None:
    """With every key at its default, but the feed and a free port: pivots are kept and computed."""
    events = social_feed(people=400, days=120, rng=np.random.default_rng(1))
    feed = tmp_path / "feed.jsonl"
    feed.write_bytes(b"\n".join(map(msgspec.json.encode, events)) + b"\n")
    schema = SOCIAL_FEED_SCHEMA
    document = {
        "attributes": {
            "quasi_identifiers": list(schema.quasi_identifiers),
            "sensitive": schema.sensitive,
            "sensitive_values": sorted(schema.sensitive_values),
        },
        "source": {"kind": "files", "paths": [feed.name]},
        "sink": {"kind": "files", "folder": "releases"},
        "dead_letters": {"kind": "files", "path": "letters.jsonl"},
        "state": {"folder": "state"},
        "release": {"every": "1w"},
        "metrics": {"port": 0},
    }
    settings = config.check(document, tmp_path, "test")
    assert settings.config.privacy.window == "all"
    assembly.run_from_settings(settings, drain=True, summary=Summary())
    sample = kept_metrics[0].registry.get_sample_value
    kept, computed = (
        sample("ktsafe_kt_tree_pivots_total", {"what": what}) for what in ("kept", "computed")
    )
    assert sample("ktsafe_releases_published_total") > 5
    assert min(kept, computed, sample("ktsafe_kt_tree_moves_total")) > 0
    audits = [json.loads(path.read_text()) for path in tmp_path.glob("state/**/audit.json")]
    assert audits
    assert all(audit["audit"]["violations"] == [] for audit in audits)
