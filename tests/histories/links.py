"""A real broker with several ways to it, each a proxy that may be cut, held up or refused.

    client ──▶ outer port (proxy of the link) ──▶ inner port (listener of the broker)

The broker has one listener for every link and advertises the outer port there, so that all that a
client of the link says and hears goes through its proxy. What is held up arrives later, even if
the client is gone by then: as with packets on the way. The proxy comes from an address of its own
(127.0.0.2, ...), by which rights are given and taken.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ops.broker.broker import Broker, free_ports

CHUNK_BYTES = 1 << 16


class Link:
    """One way to the broker. Every method may be called from any thread."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.name = f"LINK{number}"
        self.inner, self.outer = free_ports(2)
        self.host = f"127.0.0.{number + 2}"
        """From where the broker sees the clients of this link."""
        self.n_connections = 0
        self._loop = loop
        self._asks, self._answers = asyncio.Event(), asyncio.Event()
        self._is_refusing = False
        self._open: set[asyncio.StreamWriter] = set()
        self.heal(reset=False)

    @property
    def bootstrap(self) -> str:
        """The address for clients of this link."""
        return f"127.0.0.1:{self.outer}"

    def hold(self, *, asks: bool, answers: bool) -> None:
        """Hold up what clients send, what the broker answers, or both."""

        def change() -> None:
            for gate, is_held in ((self._asks, asks), (self._answers, answers)):
                gate.clear() if is_held else gate.set()

        self._loop.call_soon_threadsafe(change)

    def refuse(self) -> None:
        """Close every connection, and each new one at once."""

        def change() -> None:
            self._is_refusing = True
            self._reset()

        self._loop.call_soon_threadsafe(change)

    def heal(self, *, reset: bool) -> None:
        """Let everything through; with `reset` nothing of what was held up arrives."""

        def change() -> None:
            if reset:
                self._reset()
            self._is_refusing = False
            self._asks.set()
            self._answers.set()

        self._loop.call_soon_threadsafe(change)

    async def serve(self) -> asyncio.Server:
        """Listen."""
        return await asyncio.start_server(self._connected, "127.0.0.1", self.outer)

    def _reset(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until both sides have ended."""
        self.n_connections += 1
        if self._is_refusing:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(
                "127.0.0.1", self.inner, local_addr=(self.host, 0)
            )
        except OSError:
            writer.transport.abort()
            return
        both = {writer, back}
        self._open |= both
        try:
            await asyncio.gather(
                _carry(reader, back, self._asks), _carry(there, writer, self._answers)
            )
        finally:
            self._open -= both
            for each in both:
                each.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: Any) -> None:
    """Carry bytes one way while the gate is open; what was read goes out, whoever is gone."""
    with suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            await gate.wait()
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        await gate.wait()
        writer.write_eof()


class Links:
    """Some links, carried by a thread until they are closed."""

    def __init__(self, count: int) -> None:
        self._loop = asyncio.new_event_loop()
        self.links = [Link(number, self._loop) for number in range(count)]
        self._over, is_listening = asyncio.Event(), threading.Event()

        async def carry() -> None:
            servers = [await link.serve() for link in self.links]
            is_listening.set()
            await self._over.wait()
            for server in servers:
                server.close()
            everything = asyncio.all_tasks() - {asyncio.current_task()}
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)
            await asyncio.sleep(0)  # Sockets are closed by then.

        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(carry()))
        self._thread.daemon = True
        self._thread.start()
        is_listening.wait()

    def close(self) -> None:
        """End every connection, and listen no longer."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()


class LinkedBroker(Broker):
    """A broker with a listener for every link."""

    def __init__(self, home: Path, *, n_links: int, **kwargs: Any) -> None:
        super().__init__(home, **kwargs)
        self._ways = Links(n_links)
        self.links = self._ways.links

    def properties(
        self, port: int, controller_port: int, secured_ports: Mapping[str, int] | None = None
    ) -> dict[str, str]:
        """Return the broker's settings, those of the links among them."""
        found = super().properties(port, controller_port, secured_ports)

        for name, ports, joint in (
            ("listeners", [link.inner for link in self.links], "://127.0.0.1:"),
            ("advertised.listeners", [link.outer for link in self.links], "://127.0.0.1:"),
            ("listener.security.protocol.map", ["PLAINTEXT"] * len(self.links), ":"),
        ):
            further = (
                f"{link.name}{joint}{at}" for link, at in zip(self.links, ports, strict=True)
            )
            found[name] = ",".join([found[name], *further])
        return found

    def close(self) -> None:
        """Stop the broker and the proxies."""
        self.stop(kill=True)
        self._ways.close()
