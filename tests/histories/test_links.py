"""The ways to a broker: what is held up arrives later, or never; and one history on a real one."""

import contextlib
import functools
import shutil
import socket
import threading
import time

import pytest

from tests.histories import broker_history
from tests.histories.links import LinkedBroker, Links
from tests.histories.on_links import line, told
from tests.integration.cluster import Cluster, close_refused_sockets
from tests.integration.conftest import ROOT, new_broker

COPY = 7
"""A seed with a second service, on a copy of the state."""
BRIEF = {
    "DAYS": 56,
    "PIECES": 2,
    "FURTHER_ROUNDS": 0,
    "MOMENT_WITHIN_S": 3.0,
    "TAKES_IT_WITHIN_S": 4.0,
    "LANDS_WITHIN_S": 3.0,
}


class Echo:
    """Stands for a broker: answers what it is asked, and keeps it."""

    def __init__(self, port):
        self.heard, self.hosts = b"", set()
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                client, (host, _) = self._listener.accept()
                self.hosts.add(host)
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client):
        with client, contextlib.suppress(OSError):
            while data := client.recv(100):
                self.heard += data
                client.sendall(data.upper())

    def close(self):
        """Listen no longer."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def way():
    """Give a link, and what is at its end."""
    links = Links(1)
    link = links.links[0]
    echo = Echo(link.inner)
    yield link, echo
    echo.close()
    links.close()


def asked(link, text=b"ask", within_s=0.2):
    """Ask something; return the answer, None where there is none in time, "" where it is closed."""
    with socket.create_connection(("127.0.0.1", link.outer)) as client:
        client.settimeout(within_s)
        try:
            client.sendall(text)
            return client.recv(100)
        except TimeoutError:
            return None
        except ConnectionError:
            return b""


def until(holds):
    """Wait until something holds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_open_way_carries_both_directions(way):
    """What is asked is heard and answered; the link has an address of its own."""
    link, echo = way
    assert asked(link, within_s=10) == b"ASK"
    assert echo.hosts == {"127.0.0.2"}


def test_what_is_held_up_arrives_when_its_sender_is_gone(way):
    """A question that waits on the way is heard after the client has given up."""
    link, echo = way
    link.hold(asks=True, answers=False)
    assert asked(link) is None
    assert echo.heard == b""
    link.heal(reset=False)
    until(lambda: echo.heard == b"ask")


def test_a_lost_answer_is_the_answer_to_what_was_heard(way):
    """Held up in the other direction alone, the broker hears at once, and the client nothing."""
    link, echo = way
    link.hold(asks=False, answers=True)
    assert asked(link) is None
    assert echo.heard == b"ask"


def test_a_reset_loses_what_waits_and_a_refusal_what_comes(way):
    """Neither is heard ever; healed, the way is as before."""
    link, echo = way
    link.hold(asks=True, answers=True)
    assert asked(link) is None
    link.heal(reset=True)
    link.refuse()
    assert asked(link, within_s=10) == b""
    link.heal(reset=False)
    assert asked(link, b"again", within_s=10) == b"AGAIN"
    assert echo.heard == b"again"


@pytest.fixture(scope="module")
def linked():
    """Give a running broker with two ways to it."""
    home = ROOT / "var/broker/linked"
    broker = new_broker(home, kind=functools.partial(LinkedBroker, n_links=2))
    try:
        broker.start()
        close_refused_sockets()
        yield broker
    finally:
        broker.close()
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.integration
def test_nothing_is_wrong_on_a_real_broker(linked, tmp_path, monkeypatch):
    """One series, one set of bytes each, the tables of an undisturbed service, and it goes on.

    What may come while something is wrong is waited for briefly: it is no part of the claim.
    """
    for name, value in BRIEF.items():
        monkeypatch.setattr(broker_history, name, value)
    with contextlib.closing(Cluster(linked.start().bootstrap)) as cluster:
        history = told(COPY, tmp_path, cluster, tuple(linked.links))
    assert history.theme == "copy"
    assert not history.problems, line(history)
