"""The service in its default configuration works in parts, with cached pivots and kt-tree."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA, social_feed
from ktsafe.stream.config import settings as config
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.monitoring import status_server
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.service import assembly


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


def test_anonymization_is_partitioned_with_cached_pivots_and_kt_tree(
    tmp_path: Path, kept_metrics: list[PrometheusMetrics]
) -> None:
    """With its own defaults for how releases are made, the metrics of all three words move."""
    events = social_feed(people=600, days=120, rng=np.random.default_rng(1))
    feed = tmp_path / "feed.jsonl"
    feed.write_bytes(b"\n".join(map(msgspec.json.encode, events)) + b"\n")
    schema = SOCIAL_FEED_SCHEMA
    document = {
        "attributes": {
            "quasi_identifiers": list(schema.quasi_identifiers[:2]),
            "sensitive": schema.sensitive,
            "sensitive_values": sorted(schema.sensitive_values),
        },
        "source": {"kind": "files", "paths": [feed.name]},
        "sink": {"kind": "files", "folder": "releases"},
        "dead_letters": {"kind": "files", "path": "letters.jsonl"},
        "state": {"folder": "state"},
        "release": {"every": "15d"},
        "metrics": {"listen": "127.0.0.1:0"},
        # On a busy machine each release would wait for its attacks, which are not asked here.
        "attack": {"budget": 0},
    }
    settings = config.check(document, tmp_path, "test")
    assembly.run_from_settings(settings, drain=True, summary=Summary())
    sample = kept_metrics[0].registry.get_sample_value
    kept, computed = (
        sample("ktsafe_kt_tree_pivots_total", {"what": what}) for what in ("kept", "computed")
    )
    assert sample("ktsafe_releases_published_total") > 5
    assert sample("ktsafe_release_elements", {"element": "vertices"}) > 100
    assert sample("ktsafe_release_parts_total") > 0
    assert min(kept, computed) > 0
    audits = [json.loads(path.read_text()) for path in tmp_path.glob("state/**/audit.json")]
    assert audits
    assert all(audit["audit"]["violations"] == [] for audit in audits)
