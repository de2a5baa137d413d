"""The control socket: what is asked, answered, refused, and who may ask."""

import json
import socket
import stat
import threading
import time
from contextlib import closing, contextmanager

import pytest

from ktsafe.connectors.base import Unavailable
from ktsafe.state.store_base import StateUnusable
from ktsafe.stream.errors import Exit, Refused
from ktsafe.stream.service.control import SOCKET, Arguments, Control, ask


class Operator:
    """Does nothing, slowly or not at all."""

    def __init__(self):
        self.done = []
        self.waits = False
        self.error = None

    def must_wait(self, command):
        return self.waits

    def do(self, command, arguments):
        if self.error is not None:
            raise self.error
        self.done.append((command, arguments))
        return {"did": command}


@contextmanager
def looping(control, operator):
    """Run the rounds of a loop beside the test; give what ended it."""
    ended = []
    stop = threading.Event()

    def rounds():
        while not stop.is_set():
            try:
                control.advance(operator)
            except Exception as error:  # noqa: BLE001 -- kept for the test
                ended.append(error)
                return
            time.sleep(0.005)

    thread = threading.Thread(target=rounds)
    thread.start()
    try:
        yield ended
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def operator():
    return Operator()


@pytest.fixture
def control(tmp_path):
    with Control(tmp_path, lambda: {"state": "ready"}) as made:
        yield made


def say(folder, line):
    """Send bytes and return the answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(folder / SOCKET))
        connection.sendall(line)
        return json.loads(connection.makefile("rb").readline() or b"null")


def test_a_command_is_done_by_the_loop_and_answered(tmp_path, control, operator):
    """Arguments arrive as they were sent, the result comes back; between rounds, not before."""
    with looping(control, operator):
        assert ask(tmp_path, "erase", dict, Arguments(["ä b"]), patience_s=20) == {"did": "erase"}
    assert operator.done == [("erase", Arguments(["ä b"]))]


def test_status_is_answered_while_the_loop_is_stuck(tmp_path, control):
    """A service whose loop does not go round still tells."""
    assert ask(tmp_path, "status", dict, patience_s=20) == {"state": "ready"}


def test_only_the_owner_may_ask(tmp_path, control):
    """The socket is for its owner alone, and goes with the service."""
    path = tmp_path / SOCKET
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_ISSOCK(path.stat().st_mode)
    control.close()
    assert not path.exists()
    assert ask(tmp_path, "status", dict, patience_s=1) is None


def test_a_socket_that_a_killed_service_left_is_replaced(tmp_path, operator):
    """Nobody listens there: commands say so, and the next service takes the place."""
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(tmp_path / SOCKET))
    assert ask(tmp_path, "status", dict, patience_s=1) is None
    with Control(tmp_path, lambda: {"state": "ready"}):
        assert ask(tmp_path, "status", dict, patience_s=20) == {"state": "ready"}


def test_a_folder_may_be_deep(tmp_path):
    """The address of a Unix socket is short; paths need not be."""
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    with Control(deep, lambda: {"state": "ready"}):
        assert (deep / SOCKET).is_socket()
        assert ask(deep, "status", dict, patience_s=20) == {"state": "ready"}


def test_what_must_wait_waits_and_the_rest_goes_on(tmp_path, control, operator):
    """A command that cannot be done yet is done later, as soon as it can."""
    operator.waits = True
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(ask(tmp_path, "freeze", dict, patience_s=20))
    )
    with looping(control, operator):
        asking.start()
        time.sleep(0.1)
        assert not operator.done
        operator.waits = False
        asking.join()
    assert answers == [{"did": "freeze"}]


def test_what_nobody_waits_for_is_not_begun(tmp_path, control, operator):
    """A client that gave up finds nothing done, then or later."""
    operator.waits = True
    with looping(control, operator):
        with pytest.raises(Refused, match="nothing was done") as caught:
            ask(tmp_path, "erase", dict, Arguments(["a"]), patience_s=0.1)
        assert caught.value.code is Exit.UNAVAILABLE
        operator.waits = False
        time.sleep(0.05)
    assert not operator.done


def test_a_refusal_comes_back_with_its_code_and_the_loop_goes_on(tmp_path, control, operator):
    """The service's own words and exit code reach the operator."""
    operator.error = Refused("Not today.", hint="Tomorrow.", code=Exit.STATE)
    with looping(control, operator) as ended:
        with pytest.raises(Refused, match=r"Not today\. Tomorrow\.") as caught:
            ask(tmp_path, "rebase", dict, patience_s=20)
        assert caught.value.code is Exit.STATE
        operator.error = None
        assert ask(tmp_path, "rebase", dict, patience_s=20) == {"did": "rebase"}
    assert not ended


def test_what_goes_wrong_ends_the_loop_and_tells_no_text(tmp_path, control, operator):
    """An unforeseen error is the loop's, as anywhere in it; its text may hold an id and stays."""
    operator.error = RuntimeError("secret-person")
    with looping(control, operator) as ended, pytest.raises(Refused) as caught:
        ask(tmp_path, "erase", dict, Arguments(["a"]), patience_s=20)
    assert caught.value.code is Exit.INTERNAL
    assert "secret" not in str(caught.value)
    assert ended == [operator.error]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"command": "dance"}\n', "no such command"),
        (b'{"version": 2, "command": "status", "new": 1}\n', "speaks version 1"),
        (b'{"command": "status", "new": 1}\n', "no question"),
        (b'{"command": 1}\n', "no question"),
        (b"hello\n", "no question"),
        (b"\xff\n", "no question"),
        (b"\n", "no question"),
        (b"[]\n", "no question"),
        (b'{"command": "erase", "patience_s": "x"}\n', "no question"),
        (b'{"command": "erase", "arguments": {"ids": "a"}}\n', "no question"),
        (b'{"command": "erase", "arguments": {"ids": [1]}}\n', "no question"),
        (b'{"command": "erase", "arguments": {"ids": null}}\n', "no question"),
    ],
)
def test_what_is_no_question_is_refused(tmp_path, control, line, words):
    """One clear error each, and the service goes on."""
    answer = say(tmp_path, line)
    assert answer["version"] == 1
    assert words in answer["error"]["message"]
    assert answer["error"]["code"] == Exit.USAGE
    assert ask(tmp_path, "status", dict, patience_s=20)


def test_a_line_without_end_is_hung_up_on(tmp_path, control, monkeypatch):
    """What a client sends is bounded."""
    monkeypatch.setattr("ktsafe.stream.service.control.LINE_BYTES_MAX", 1000)
    try:
        answer = say(tmp_path, b"x" * 2000 + b"\n")
    except ConnectionError:
        answer = None
    assert answer is None


def test_connections_are_bounded(tmp_path, control, operator):
    """Clients that pile up are hung up on; one that asks later is answered."""
    idle = [socket.socket(socket.AF_UNIX) for _ in range(12)]
    for connection in idle:
        connection.connect(str(tmp_path / SOCKET))
    hung_up = 0
    for connection in idle[8:]:
        connection.settimeout(20)
        hung_up += connection.recv(1) == b""
    assert hung_up == 4
    for connection in idle:
        connection.close()
    deadline = time.monotonic() + 20
    while True:
        try:
            assert ask(tmp_path, "status", dict, patience_s=5)
            break
        except Unavailable:
            assert time.monotonic() < deadline


def test_who_waits_when_the_service_stops_is_told(tmp_path, control, operator):
    """Nothing is done then, and nobody hangs."""
    operator.waits = True
    said = []

    def asking():
        try:
            ask(tmp_path, "erase", dict, Arguments(["a"]), patience_s=60)
        except (Refused, Unavailable) as error:
            said.append(error)

    thread = threading.Thread(target=asking)
    thread.start()
    while not control._tasks:
        time.sleep(0.005)
    control.close()
    thread.join()
    assert len(said) == 1
    assert said[0].code is Exit.UNAVAILABLE


def test_nothing_of_a_question_is_logged(tmp_path, control, operator, caplog):
    """The log has the command's name and no argument."""
    # By name: a run in the same process may have set the level of our loggers.
    caplog.set_level("DEBUG", "ktsafe.stream")
    with looping(control, operator):
        ask(tmp_path, "erase", dict, Arguments(["secret-person"]), patience_s=20)
    assert "secret" not in caplog.text
    assert [record.fields for record in caplog.records] == [{"op": "erase"}]


def test_a_folder_that_takes_no_socket_is_refused(tmp_path):
    """The error names the folder and what it must be."""
    with pytest.raises(StateUnusable, match="sockets"):
        Control(tmp_path / "gone", dict)
