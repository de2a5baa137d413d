"""The process that reads and judges records for another one: see `ktsafe.stream.ingest.read_ahead`.

It ends with the process that started it: nobody answers on its socket then.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import defaultdict, deque
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from typing import Any, Final, NoReturn

from ktsafe.connectors.base import Record
from ktsafe.connectors.errors import Unavailable
from ktsafe.state.registers import Origin
from ktsafe.stream.ingest.judge import Judge
from ktsafe.stream.ingest.read_ahead import ReadAnswer, ReaderPlan, in_columns, plain
from ktsafe.stream.ingest.runs import PolledRun
from ktsafe.stream.process import logs, process

LOOK_S: Final = 0.05
"""How often it looks whether something else is asked while it waits for records."""
CALLS: Final = frozenset(
    {"open", "identity", "partitions", "at_end", "pause", "resume", "lag", "ends"}
)


class ReaderProcess:
    """Answers one request after the other."""

    def __init__(self, wire: Connection, plan: ReaderPlan) -> None:
        self._wire = wire
        self._source = plan.source()
        self._failed: Exception | None = None  # after records that were read before
        self._n_runs = 0
        self._last: deque[dict[int, PolledRun]] = deque(maxlen=2)
        self._judge = Judge(
            plan.schema, record_bytes_max=plan.record_bytes_max, event_format=plan.event_format
        )

    def run(self) -> None:
        """Serve until the other side is gone."""
        with closing(self._source), suppress(EOFError, ConnectionError):
            while True:
                self.answer(*self._wire.recv())

    def answer(self, name: str, given: tuple[Any, ...]) -> None:
        """Do what was asked, and send what came of it: what was found, or an error."""
        if name == "acknowledge":
            with suppress(Unavailable):
                self._source.acknowledge(*given)
            return
        try:
            found = self._answer(name, given)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the asker has to know
            self._wire.send((None, error))
        else:
            self._wire.send((found, None))

    def _answer(self, name: str, given: tuple[Any, ...]) -> Any:
        if name == "read":
            return self._read(*given)
        if name == "records":
            (number,) = given
            kept = {n: run for runs in self._last for n, run in runs.items()}
            return [plain(record) for record in kept[number].records]
        assert name in CALLS
        return getattr(self._source, name)(*given)

    def _read(self, timeout_s: float, records_max: int) -> ReadAnswer:
        """Read until nothing comes, or something else is asked."""
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        records: dict[Origin, list[Record]] = defaultdict(list)
        n_read, end_s = 0, time.monotonic() + timeout_s
        while n_read < records_max:
            wait_s = 0.0 if n_read else max(0.0, min(LOOK_S, end_s - time.monotonic()))
            try:
                more = self._source.poll(wait_s, records_max - n_read)
            except Exception as error:
                if not n_read:
                    raise
                self._failed = error
                break
            n_read += len(more)
            for record in more:
                records[record.topic, record.partition].append(record)
            if not more and (n_read or time.monotonic() >= end_s or self._wire.poll(0)):
                break
        judged = (PolledRun(self._judge, some) for some in records.values())
        runs = dict(enumerate(judged, self._n_runs))
        self._n_runs += len(runs)
        if runs:
            self._last.append(runs)
        for run in runs.values():
            run.judge_all()
        partitions = self._source.partitions()
        return ReadAnswer(
            [in_columns(n, at, run) for at, (n, run) in zip(records, runs.items(), strict=True)],
            self._source.identity(),
            partitions,
            frozenset(at for at in partitions if not self._source.at_end(at)),
        )


def main() -> NoReturn:
    """Serve the process at the other end of the socket whose number is given."""
    # Whoever stops the service stops this process: by closing the socket.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    process.begin()
    wire = Connection(int(sys.argv[1]))
    plan: ReaderPlan = wire.recv()
    logs.configure(level=plan.log_level, format=plan.log_format)
    logs.install_crash_hooks()
    ReaderProcess(wire, plan).run()
    process.end(0)


if __name__ == "__main__":
    main()
