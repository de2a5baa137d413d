"""A PostgreSQL and Debezium's embedded engine, each with its data in a folder of the caller's.

Needs PostgreSQL (Debian: postgresql), Java 17, and Maven the first time. Both listen on loopback
alone. PostgreSQL refuses to run as root; then it runs as the user that its package made.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ops.broker.broker import free_ports

HERE: Final = Path(__file__).resolve().parents[3] / "ops" / "debezium"
LIBS: Final = Path("var/debezium/libs")
WAIT_S: Final = 120.0
"""A JVM starts in a few seconds, on a busy machine in many."""
FLUSH_MS: Final = 600_000
"""How often the engine stores how far it is: it does when it ends, but not after kill -9."""
_USER: Final = "postgres"


class Postgres:
    """A database server in a folder; `psql` and its kin must be there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (self.port,) = free_ports(1)
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        self._bin = found[-1] if found else Path(shutil.which("initdb") or "initdb").parent
        self._user = _USER if os.geteuid() == 0 else None

    def start(self) -> None:
        """Make the cluster, with what logical decoding needs, and start it."""
        self._folder.mkdir(parents=True)
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        data = self._folder / "data"
        self._run(
            "initdb", "-D", str(data), "-U", "ktsafe", "-A", "trust", "--no-sync", "-E", "UTF8"
        )
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data}"
        options += " -c wal_level=logical -c fsync=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(data), "-l", log, "-w", "-o", options, "start")

    def stop(self) -> None:
        """Stop the server; its folder stays."""
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-m", "immediate", "stop")

    def run(self, sql: str) -> None:
        """Run statements; an error raises."""
        self._psql(sql)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return what a query gives."""
        # It is the trial's own.
        found = self._psql(f"SELECT coalesce(json_agg(found), '[]') FROM ({query}) AS found")  # noqa: S608
        rows: list[dict[str, Any]] = json.loads(found)
        return rows

    def _psql(self, sql: str) -> str:
        command = [
            "psql",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            "ktsafe",
            "-d",
            "postgres",
        ]
        command += ["-v", "ON_ERROR_STOP=1", "-X", "-q", "-A", "-t"]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        with (self._folder.parent / "postgres.log").open("ab") as log:
            subprocess.run(
                command,
                check=True,
                user=self._user,
                cwd="/",
                stdout=log,
                stderr=log,
                timeout=WAIT_S,
            )


class Engine:
    """Debezium's embedded engine on a server: what it says goes into `out.jsonl` of its folder."""

    def __init__(self, folder: Path, server: Postgres, tables: str) -> None:
        self._folder = folder
        self._server = server
        self._tables = tables
        self._process: subprocess.Popen[bytes] | None = None
        self.out = folder / "out.jsonl"

    def start(self) -> None:
        """Start it; where it has run before, it goes on."""
        _fetch()
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = self._folder / "engine.properties"
        settings.write_text("\n".join(f"{k}={v}" for k, v in self._settings().items()))
        libs = str(LIBS.resolve() / "*")
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", libs]
        command += [str(HERE / "Engine.java"), str(settings), str(self.out)]
        with (self._folder / "engine.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it: by SIGTERM it stores how far it is, by SIGKILL it tells some changes again."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(WAIT_S)

    def wait_for(self, mark: str) -> list[dict[str, Any]]:
        """Return all that it said so far, once a line of it holds a mark."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "engine.log").read_text()[-2000:]
            said = self.out.read_text() if self.out.exists() else ""
            if mark in said:
                return [json.loads(line) for line in said.splitlines() if line.endswith("}")]
            time.sleep(0.2)
        raise TimeoutError(mark)

    def _settings(self) -> dict[str, str]:
        return {
            "name": "engine",
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(self._folder / "offsets"),
            "offset.flush.interval.ms": str(FLUSH_MS),
            "database.hostname": "127.0.0.1",
            "database.port": str(self._server.port),
            "database.user": "ktsafe",
            "database.password": "ktsafe",
            "database.dbname": "postgres",
            "topic.prefix": "shop",
            "plugin.name": "pgoutput",
            "schema.include.list": self._tables,
            "provide.transaction.metadata": "true",
            "skipped.operations": "none",
            "snapshot.mode": "initial",
            "poll.interval.ms": "50",
            "converter.schemas.enable": "true",
        }


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """Give a running server, and stop it."""
    server = Postgres(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _fetch() -> None:
    """Download the engine once."""
    if not any(LIBS.glob("debezium-embedded-*.jar")):
        command = ["mvn", "-B", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={LIBS.resolve()}"], check=True)
