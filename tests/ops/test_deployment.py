"""Example configurations, compose file, container file and systemd unit fit the service."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA
from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings as config
from ktsafe.stream.errors import Exit
from ktsafe.stream.monitoring.monitoring import StatusServer
from tests.ops.tools import ROOT, tool

OPS = ROOT / "ops"
EXAMPLES = sorted((OPS / "examples").glob("*.toml"))
COMPOSE = (OPS / "compose.yaml").read_text(encoding="utf-8")
UNIT = (OPS / "systemd/ktsafe.service").read_text(encoding="utf-8")


def test_there_are_examples() -> None:
    """There is one for files, one for Kafka, one for a large site and the compose file's."""
    assert {p.stem for p in EXAMPLES} == {"compose", "files", "kafka", "kafka-large"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_passes_the_config_loader(path: Path) -> None:
    """Each example loads, and keeps the parameters of the paper's order of magnitude."""
    settings = config.load(path)
    assert settings.params.k >= 10
    assert settings.config.release.seed is None


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_keep_secrets_and_metrics_in(path: Path) -> None:
    """No example holds a password; metrics stay on loopback but in the container's network."""
    loaded = config.load(path).config
    assert "password =" not in path.read_text(encoding="utf-8")
    assert loaded.metrics.host == ("0.0.0.0" if path.stem == "compose" else "127.0.0.1")  # noqa: S104
    if isinstance(loaded.kafka, KafkaSettings):
        topics = [getattr(t, "topic", None) for t in (loaded.source, loaded.sink)]
        assert None not in topics


def test_compose_publishes_on_loopback_only() -> None:
    """Every published port names 127.0.0.1."""
    ports = re.findall(r'^\s+- "([0-9.:]*:\d+)"$', COMPOSE, re.MULTILINE)
    assert len(ports) == 4
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_compose_mounts_what_exists() -> None:
    """Files and folders mounted from the checkout are there."""
    mounted = re.findall(r"^\s+- (\./[^:]+):", COMPOSE, re.MULTILINE)
    assert len(mounted) >= 5
    assert [path for path in mounted if not (OPS / path).exists()] == []


def test_compose_and_its_configuration_agree() -> None:
    """Broker, state folder, port and Prometheus' target are the same everywhere."""
    loaded = config.load(OPS / "examples/compose.toml").config
    assert loaded.kafka is not None
    assert f"INSIDE://{loaded.kafka.bootstrap_servers[0]}" in COMPOSE
    assert f"state:{loaded.state.folder}" in COMPOSE
    assert f"127.0.0.1:{loaded.metrics.port}:{loaded.metrics.port}" in COMPOSE
    scraped = (OPS / "prometheus/compose.yml").read_text(encoding="utf-8")
    assert f'"ktsafe:{loaded.metrics.port}"' in scraped


def test_the_demo_feed_of_compose_fits_its_configuration(tmp_path: Path) -> None:
    """Its commands are there, and what it sends has the attributes that the service asks for."""
    (command,) = re.findall(r"- >-\n\s+(ktsafe demo .*?)\n\s+networks", COMPOSE, re.DOTALL)
    assert shlex.split(command)[-4:] == [
        "--feed-to",
        "/etc/ktsafe/ktsafe.toml",
        "--per-second",
        "5",
    ]
    small = ["demo", "--people", "20", "--days", "20", "--feed-to", f"{tmp_path}/f.jsonl"]
    assert run_command(small) == Exit.OK
    events = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    sent = {name for event in events for name in event.get("attributes", {})}
    for path in EXAMPLES:
        if path.stem != "kafka-large":
            schema = config.load(path).schema
            assert set(schema.attributes) <= sent
            assert schema.sensitive_values <= SOCIAL_FEED_SCHEMA.sensitive_values


def test_both_prometheus_configurations_differ_in_the_target_only() -> None:
    """What promtool and the real Prometheus check of one holds for the other."""
    one, other = (
        [
            line
            for line in (OPS / "prometheus" / name).read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")
        ]
        for name in ("prometheus.yml", "compose.yml")
    )
    different = [(a.strip(), b.strip()) for a, b in zip(one, other, strict=True) if a != b]
    assert [(a, b) for a, b in different if "oken" not in a and "uthorization" not in a] == [
        ('- targets: ["127.0.0.1:9464"]', '- targets: ["ktsafe:9464"]')
    ]


def test_beyond_the_container_a_token_is_needed() -> None:
    """One variable gives it, as a secret, to the service and to Prometheus."""
    metrics = config.load(OPS / "examples/compose.toml").config.metrics
    assert metrics.token_file == "/run/secrets/metrics-token"  # noqa: S105
    assert "metrics-token:\n    environment: KTSAFE_METRICS_TOKEN\n" in COMPOSE
    assert '    secrets: [{source: metrics-token, uid: "10001", mode: 0400}]\n' in COMPOSE
    assert "    secrets: [metrics-token]\n" in COMPOSE
    scraped = (OPS / "prometheus/compose.yml").read_text(encoding="utf-8")
    assert "      credentials_file: /run/secrets/metrics-token\n" in scraped


def test_versions_of_the_broker_agree() -> None:
    """The compose file runs the Kafka that the integration tests run."""
    pom = (OPS / "broker/pom.xml").read_text(encoding="utf-8")
    version = re.search(r"<artifactId>kafka_[0-9.]+</artifactId>\s*<version>([^<]+)<", pom)
    assert version is not None
    assert f"image: ${{KAFKA_IMAGE:-apache/kafka:{version[1]}}}\n" in COMPOSE


def test_the_container_serves_its_health_where_it_is_asked() -> None:
    """The health check asks the default port, and the service does not run as root."""
    text = (OPS / "Containerfile").read_text(encoding="utf-8")
    defaults = StatusServer.__init__.__kwdefaults__
    assert f"http://127.0.0.1:{defaults['port']}/healthz" in text
    assert re.search(r"^USER ktsafe$", text, re.MULTILINE)


def test_images_hold_nothing_that_no_hash_of_ours_vouches_for() -> None:
    """What is fetched has a hash, and whoever runs images may name each of them by digest."""
    text = (OPS / "Containerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install(?:[^&]|&(?!&))*", text.partition("FROM ${BASE}\n")[0])
    assert len(installs) == 2
    assert all("--require-hashes" in step or "--no-deps" in step for step in installs)
    assert "pip wheel --disable-pip-version-check --no-deps --no-build-isolation" in text
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases == ["${BASE}", "${BASE}"]
    images = re.findall(r"^ +(?:image|BASE): (\S+)$", COMPOSE, re.MULTILINE)
    assert "ktsafe" in images
    fetched = [image for image in images if image != "ktsafe"]
    assert len(fetched) == 4
    assert [image for image in fetched if not re.fullmatch(r"\$\{[A-Z]+_IMAGE:-\S+\}", image)] == []


def test_the_image_is_built_in_layers_that_last() -> None:
    """What is fetched is a layer before the sources, which are before the kernels; all exist."""
    text = (OPS / "Containerfile").read_text(encoding="utf-8")
    order = (
        "COPY constraints-run.txt",
        "--require-hashes",
        "COPY ktsafe",
        "pip wheel",
        "stream.warm",
    )
    places = [text.index(step) for step in order]
    assert places == sorted(places)
    lines = re.findall(r"^COPY ([^-].*) \S+$", text, re.MULTILINE)
    copied = [name for line in lines for name in line.split()]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    installed = (ROOT / "setup.py").read_text(encoding="utf-8")
    (inside,) = re.findall(r"^INSIDE = (.+)$", installed, re.MULTILINE)
    assert {"ktsafe", "setup.py", *ast.literal_eval(inside)} <= set(copied)
    # Without isolation the wheel is built by what the constraints name.
    assert "\nsetuptools==" in (ROOT / "constraints-run.txt").read_text(encoding="utf-8")


def test_the_bill_of_materials_has_what_a_service_installs(tmp_path: Path) -> None:
    """`make sbom` writes CycloneDX with each pinned package, its version and its hashes."""
    if find_spec("cyclonedx_py") is None and os.environ.get("CI") != "true":
        pytest.skip("cyclonedx-bom is not installed")
    (command,) = re.findall(
        r"^\t\$\(RUN\) -m (cyclonedx_py .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    words = command.replace("build/ktsafe.cdx.json", str(tmp_path / "bill.json")).split()
    subprocess.run([sys.executable, "-W", "ignore", "-m", *words], cwd=ROOT, check=True)
    bill = json.loads((tmp_path / "bill.json").read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["name"] == "ktsafe"
    pins = re.findall(
        r"^([\w.-]+)==(\S+)", (ROOT / "constraints-run.txt").read_text(), re.MULTILINE
    )
    assert {(one["name"], one["version"]) for one in bill["components"]} == set(pins)
    assert all(one["externalReferences"][0]["hashes"] for one in bill["components"])


def test_the_pythons_that_are_claimed_are_those_that_run_the_tests() -> None:
    """Each version in the classifiers is the one that CI builds, installs and tests with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert claimed == ["3.11"]
    assert "python:3.11-" in (OPS / "Containerfile").read_text(encoding="utf-8")


def test_the_unit_stays_down_where_a_restart_cannot_help() -> None:
    """Configuration, state and mismatch errors are not retried; an unreachable broker is."""
    codes = re.search(r"^RestartPreventExitStatus=(.*)$", UNIT, re.MULTILINE)
    assert codes is not None
    assert {int(code) for code in codes[1].split()} == {Exit.USAGE, Exit.STATE, Exit.MISMATCH}
    assert "StateDirectoryMode=0700" in UNIT


def test_the_unit_waits_for_readiness_and_watches_the_loop() -> None:
    """The service tells both (service/test_notify.py); only its own process is heard."""
    for line in ("Type=notify", "NotifyAccess=main", "WatchdogSec=10min", "LimitCORE=0"):
        assert re.search(rf"^{line}$", UNIT, re.MULTILINE), line


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """Debian's systemd finds no mistake in it, and exposes it no more than it did (1.5 of 10)."""
    unit = tmp_path / "ktsafe.service"
    unit.write_text(UNIT.replace("/opt/ktsafe/bin/ktsafe", "/bin/true"))
    analyze = tool("systemd-analyze")
    for arguments in (["verify"], ["security", "--offline=true", "--threshold=16"]):
        done = subprocess.run(
            [analyze, *arguments, str(unit)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    open_unit = tmp_path / "open.service"
    open_unit.write_text(unit.read_text().replace("PrivateTmp=yes", "PrivatTmp=yes"))
    done = subprocess.run(
        [analyze, "verify", str(open_unit)], capture_output=True, text=True, check=False
    )
    assert "PrivatTmp" in done.stderr
