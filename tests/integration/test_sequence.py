"""Releases that are safe together (w = all), on a real broker, by a service that is killed once."""

import pytest

from tests import feeds, running, services

pytestmark = pytest.mark.integration

ATTRIBUTES = {**services.ATTRIBUTES, "quasi_identifiers": ["gender"]}


def kill_on_the_way(site):
    """Start the service and kill it when it is about to publish its second release."""
    process = site.start()
    try:
        site.wait_until(lambda: site.has_audits(2), process)
    finally:
        process.kill()
        process.wait()


def test_a_sequence_survives_kill_9_and_is_audited_from_the_topic(tmp_path, cluster):
    """Half of the feed, kill -9, the other half: one sequence, whatever is in the topic is safe.

    The auditor of the second process has no memory of the first: it is led through the topic. The
    command reads the topic too, and judges all of it with mappings and truth.
    """
    feed = services.small_feed(people=200, days=150)
    halves = feed[: len(feed) // 2], feed[len(feed) // 2 :]
    first, rest = (feeds.assigned(half, 2, 1) for half in halves)
    site = running.kafka_site(tmp_path / "site", first, ATTRIBUTES, "month", cluster.bootstrap)
    kill_on_the_way(site)
    seen = {name: digest for name, (digest, _) in site.releases(tmp_path / "seen").items()}
    running.send(cluster.bootstrap, site.settings.config.source.topic, rest)
    site.drain()
    releases = site.releases(tmp_path / "read")
    assert len(releases) > len(seen) > 0
    assert {name: releases[name][0] for name in seen} == seen
    assert all(n_vertices > 0 for _, n_vertices in releases.values())
    running.verify_releases([tmp_path / "read"])
    (name,) = running.write_feed(tmp_path, [feed])
    audited = running.audit_history(site, tmp_path / "read", tmp_path / name)
    assert audited["releases"] == len(releases)
    assert audited["published"]["candidates"]["below_k"] == 0
    assert audited["changes"]["visible"] > 0
    assert audited["changes"]["below_k"] == 0
