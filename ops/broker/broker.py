"""Runs one Apache Kafka broker (KRaft) on loopback, for tests.

    python ops/broker/broker.py start     prints the bootstrap address
    python ops/broker/broker.py status
    python ops/broker/broker.py stop      clean shutdown; the data stay
    python ops/broker/broker.py fetch     only download the server

Needs Java 17 and, the first time, Maven. Everything lives under `--home` (default `./var/broker`):
`libs` (the server, fetched once), `data`, `broker.json` (process id and ports), `broker.log`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ops.broker.secured import Secured

HERE = Path(__file__).resolve().parent
DEFAULT_HOME = Path("var/broker")
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
JAVA_OPTIONS = (
    "-Xms128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
)


class BrokerError(Exception):
    """The broker cannot be fetched, started or stopped.

    The message says what to do.
    """


@dataclasses.dataclass(frozen=True)
class Running:
    """A started broker: its process id and its ports."""

    pid: int
    port: int
    controller_port: int
    secured_ports: dict[str, int] = dataclasses.field(default_factory=dict)
    """Ports of listeners with TLS, by the security protocol that they speak."""

    @property
    def bootstrap(self) -> str:
        """Address for clients."""
        return f"127.0.0.1:{self.port}"


class Broker:
    """One broker in one home folder.

    Parameters
    ----------
    home:
        Folder for data, log and process id.
    libs:
        Folder of the server's jars; may be shared between brokers.
    settings:
        Broker settings that override those of `properties`.
    secured:
        Certificates and users of further listeners, with TLS and SASL.
    heap_mb:
        Memory of the Java process; 512 MB were too little for 10,000 partitions.
    """

    def __init__(
        self,
        home: Path,
        *,
        libs: Path | None = None,
        settings: Mapping[str, str] | None = None,
        secured: Secured | None = None,
        heap_mb: int = 512,
    ) -> None:
        self._heap_mb = heap_mb
        self.home = home.resolve()
        self.libs = (libs or DEFAULT_HOME / "libs").resolve()
        self._settings = dict(settings or {})
        self._secured = secured
        self._process: subprocess.Popen[bytes] | None = None

    def missing(self) -> str | None:
        """Return what this machine lacks, with the package to install, or None."""
        if shutil.which("java") is None:
            return "java not found: install a Java 17 runtime (Debian: openjdk-17-jre-headless)"
        if not self._fetched() and shutil.which("mvn") is None:
            return "mvn not found: install Maven (Debian: maven) to fetch the Kafka server once"
        return None

    def fetch(self) -> None:
        """Download the server's jars into `libs` unless they are there."""
        if self._fetched():
            return
        self.libs.mkdir(parents=True, exist_ok=True)
        # Of several processes that want the same jars one fetches them, and the others wait.
        with (self.libs / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._fetched():
                self._copy_jars()

    def _copy_jars(self) -> None:
        command = ["mvn", "-B", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={self.libs}", "-DincludeScope=runtime"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines()
            causes = [line for line in said if "ERROR" in line] or said
            raise BrokerError("\n".join(["Maven could not fetch the Kafka server:", *causes[:3]]))
        self._stamp().write_bytes((HERE / "pom.xml").read_bytes())

    def start(self) -> Running:
        """Start the broker, or return the one that runs already.

        Waits until it answers.
        """
        if (running := self.running()) is not None:
            return running
        if (lack := self.missing()) is not None:
            raise BrokerError(lack)
        self.fetch()
        self.home.mkdir(parents=True, exist_ok=True)
        remembered = self._remembered()
        if remembered is not None and _free(remembered.port, remembered.controller_port):
            port, controller_port = remembered.port, remembered.controller_port
        else:
            port, controller_port = free_ports(2)
        secured_ports = self._secured_ports()
        self._write_properties(port, controller_port, secured_ports)
        if not (self.home / "data" / "meta.properties").exists():
            self._format()
        with (self.home / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self.home / "server.properties")],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        running = Running(self._process.pid, port, controller_port, secured_ports)
        self._state_file().write_text(json.dumps(dataclasses.asdict(running)))
        self._await_ready(running)
        return running

    def running(self) -> Running | None:
        """Return the running broker of this home, if any."""
        remembered = self._remembered()
        if remembered is None or not _is_broker(remembered.pid, self.home):
            return None
        return remembered

    def stop(self, *, kill: bool = False) -> bool:
        """Stop the broker cleanly, or with SIGKILL; False if none ran."""
        running = self.running()
        if running is None:
            return False
        os.kill(running.pid, signal.SIGKILL if kill else signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while _is_broker(running.pid, self.home):
            if self._process is not None:
                self._process.poll()  # Reaps it.
            if time.monotonic() > deadline:
                os.kill(running.pid, signal.SIGKILL)
            time.sleep(0.05)
        if self._process is not None:
            self._process.wait()
            self._process = None
        return True

    def properties(
        self, port: int, controller_port: int, secured_ports: Mapping[str, int] | None = None
    ) -> dict[str, str]:
        """Return the broker's settings."""
        ports = {"PLAINTEXT": port, "CONTROLLER": controller_port, **(secured_ports or {})}
        listeners = ",".join(f"{name}://127.0.0.1:{at}" for name, at in ports.items())
        protocols = ",".join(f"{name}:{name}" for name in ports if name != "CONTROLLER")
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
            "log.dirs": str(self.home / "data"),
            # A topic that is created by accident would hide a wrong name.
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.check.interval.ms": "60000",
            **(self._secured.properties() if self._secured else {}),
            **self._settings,
        }

    def _secured_ports(self) -> dict[str, int]:
        """Return a port and certificates for each listener with TLS."""
        if self._secured is None:
            return {}
        self._secured.make_certificates()
        names = self._secured.LISTENERS
        return dict(zip(names, free_ports(len(names)), strict=True))

    def _fetched(self) -> bool:
        stamp = self._stamp()
        return stamp.exists() and stamp.read_bytes() == (HERE / "pom.xml").read_bytes()

    def _stamp(self) -> Path:
        return self.libs / "fetched.xml"

    def _state_file(self) -> Path:
        return self.home / "broker.json"

    def _remembered(self) -> Running | None:
        try:
            return Running(**json.loads(self._state_file().read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def _java(self) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"
        return ["java", f"-Xmx{self._heap_mb}m", *JAVA_OPTIONS, log4j, "-cp", f"{self.libs}/*"]

    def _write_properties(
        self, port: int, controller_port: int, secured_ports: Mapping[str, int]
    ) -> None:
        properties = self.properties(port, controller_port, secured_ports)
        lines = [f"{name}={value}" for name, value in properties.items()]
        path = self.home / "server.properties"
        path.touch(mode=0o600)  # It may hold a password.
        path.write_text("\n".join(lines) + "\n")

    def _format(self) -> None:
        cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if cluster_id.startswith("-"):
            cluster_id = "A" + cluster_id[1:]  # Would be read as an option.
        command = [*self._java(), "kafka.tools.StorageTool", "format", "--standalone"]
        command += ["-t", cluster_id, "-c", str(self.home / "server.properties")]
        command += self._secured.format_arguments() if self._secured else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BrokerError(f"could not format the broker's data folder: {done.stderr.strip()}")

    def _await_ready(self, running: Running) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                tail = (self.home / "broker.log").read_text(errors="replace").splitlines()[-5:]
                raise BrokerError("the broker ended while starting:\n" + "\n".join(tail))
            with contextlib.suppress(OSError):
                if _answers(running.port):
                    return
            time.sleep(0.1)
        self.stop(kill=True)
        raise BrokerError(f"the broker did not answer within {START_TIMEOUT_S:.0f} s")


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that are free now."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(count):
            probe = stack.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
        return ports


def _free(*ports: int) -> bool:
    for port in ports:
        with socket.socket() as probe:
            # As the broker does; otherwise connections in TIME_WAIT look like a taken port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


# ApiVersions request, version 0, correlation id 1, no client id: length, key, version, id, client.
_API_VERSIONS = bytes.fromhex("0000000a0012000000000001ffff")


def _answers(port: int) -> bool:
    """Whether a broker answers an ApiVersions request."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(_API_VERSIONS)
        return len(connection.recv(8)) == 8


def _is_broker(pid: int, home: Path) -> bool:
    """Whether `pid` is `home`'s live broker, not a later process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False
    try:
        command_line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True  # No /proc here: the number is all there is.
    return str(home).encode() in command_line


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(description="Apache Kafka on loopback, for tests.")
    parser.add_argument("command", choices=("start", "stop", "status", "fetch"))
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME)
    options = parser.parse_args()
    broker = Broker(options.home, libs=options.home / "libs")
    try:
        if options.command == "start":
            print(broker.start().bootstrap)
        elif options.command == "fetch":
            broker.fetch()
        elif options.command == "stop":
            print("stopped" if broker.stop() else "not running")
        else:
            running = broker.running()
            print(running.bootstrap if running else "not running")
            return 0 if running else 1
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
