"""The service as a process, on a real broker."""

import json
import signal

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import feeds, running, services

pytestmark = pytest.mark.integration


def kafka_site(tmp_path, partitions, cluster):
    return running.kafka_site(
        tmp_path / "site", partitions, services.ATTRIBUTES, "month", cluster.bootstrap
    )


def test_a_feed_on_three_partitions_becomes_verified_releases(tmp_path, cluster):
    """A perturbed feed: all consumed, every release verified, the graph as the fold has it."""
    careless = feeds.perturbed(services.small_feed(), 3)
    partitions = feeds.assigned(careless, 3, 3)
    site = kafka_site(tmp_path, partitions, cluster)
    site.drain()
    services.check(site, partitions, tmp_path / "read")


def test_a_topic_of_another_state_is_refused(tmp_path, cluster):
    """The state belongs to its topic: with another one the service refuses to start."""
    partitions = feeds.assigned(services.small_feed(people=40), 1, 1)
    first = kafka_site(tmp_path / "a", partitions, cluster)
    first.drain()
    second = kafka_site(tmp_path / "b", partitions, cluster)
    topics = [site.settings.config.source.topic for site in (first, second)]
    first.config.write_text(first.config.read_text().replace(*topics))
    assert first.start("--drain").wait(60) == Exit.MISMATCH
    last = (first.folder / "log.txt").read_text().strip().splitlines()[-1]
    assert topics[1] in last


def test_an_unreachable_broker_ends_in_one_paragraph(tmp_path):
    """After bounded retries: what is unreachable, what to do, and its own exit code."""
    site = running.site(
        tmp_path / "site",
        attributes=services.ATTRIBUTES,
        source='kind = "kafka"\ntopic = "events"',
        sink='kind = "files"\nfolder = "releases"',
        every="1d",
        kafka='\n[kafka]\nbootstrap_servers = ["127.0.0.1:1"]\nrequest_timeout_s = 1\n',
    )
    assert site.start().wait(60) == Exit.UNAVAILABLE
    last = (site.folder / "log.txt").read_text().strip().splitlines()[-1]
    assert last.startswith("ktsafe: ")
    assert "127.0.0.1:1" in last


def test_sigterm_stops_cleanly_and_the_next_start_continues(tmp_path, cluster):
    """A long-running service ends with 0 on SIGTERM, and nothing is lost."""
    partitions = feeds.assigned(services.small_feed(), 2, 6)
    site = kafka_site(tmp_path, partitions, cluster)
    process = site.start()
    site.wait_until(site.has_audits, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.OK
    site.drain()
    services.check(site, partitions, tmp_path / "read")


def test_topics_are_created_checked_and_read_back(tmp_path, cluster, capsys):
    """`topics --create`, `topics`, `run`, `releases read`: all of it by command, on Kafka."""
    site = running.site(
        tmp_path / "site",
        attributes=services.ATTRIBUTES,
        source='kind = "kafka"\ntopic = "cli-events"',
        sink='kind = "kafka"\ntopic = "cli-releases"',
        every="month",
        kafka=f'\n[kafka]\nbootstrap_servers = ["{cluster.bootstrap}"]\n',
    )
    text = site.config.read_text()
    letters = 'kind = "files"\npath = "dead-letters.jsonl"'
    assert letters in text
    site.config.write_text(text.replace(letters, 'kind = "kafka"\ntopic = "cli-dead-letters"'))
    config = str(site.config)
    assert run_command(["config", config, "--topics"]) == Exit.MISMATCH
    assert "there is no such topic" in capsys.readouterr().out
    assert (
        run_command(["config", config, "--topics", "--partitions", "2", "--json", "--create"])
        == Exit.OK
    )
    created = json.loads(capsys.readouterr().out)
    assert created == {
        "created": ["cli-events", "cli-releases", "cli-dead-letters"],
        "found": [],
    }
    assert run_command(["config", config, "--topics"]) == Exit.OK
    feed = services.small_feed(people=60)
    running.send(cluster.bootstrap, "cli-events", [feed[::2], feed[1::2]])
    assert run_command(["run", config, "--drain"]) == Exit.OK
    capsys.readouterr()
    everything = ["releases", "read", config, "--into", str(tmp_path / "all"), "--all", "--json"]
    assert run_command(everything) == Exit.OK
    ids = [json.loads(line)["release_id"] for line in capsys.readouterr().out.splitlines()]
    assert len(ids) >= 3
    assert ids == sorted(ids)
    assert run_command(["releases", "read", config, "--into", str(tmp_path / "one")]) == Exit.OK
    assert [path.name for path in (tmp_path / "one").iterdir()] == ids[-1:]
    place = ["--kafka", cluster.bootstrap, "--topic", "cli-releases"]
    assert run_command(["releases", "read", *place, "--into", str(tmp_path / "two")]) == Exit.OK
    assert [path.name for path in (tmp_path / "two").iterdir()] == ids[-1:]
    assert run_command(["releases", "read", *place[:2], "--into", "x"]) == Exit.USAGE
    assert run_command(["verify", str(tmp_path / "all")]) == Exit.OK
