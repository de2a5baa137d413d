"""Structured logs: what can be in a line, and what cannot."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.stream.process import logs

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    ours = {name: logging.getLogger(name).level for name in logs._OURS}
    yield
    root.handlers[:], _ = before[0], root.setLevel(before[1])
    for name, level in ours.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def stream() -> io.StringIO:
    """Return where lines of JSON go."""
    found = io.StringIO()
    logs.configure(format="json", stream=found)
    return found


def json_lines(stream: io.StringIO) -> list[dict[str, object]]:
    """Return the logged lines, decoded."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_key_value() -> None:
    """The text format has time, level, logger, sentence and fields in this order."""
    stream = io.StringIO()
    logs.configure(stream=stream)
    logs.get_logger("ktsafe.stream.release.publish").info(
        "release published", release_id="r-1", vertices=12
    )
    assert re.fullmatch(
        r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info "
        r'logger=ktsafe.stream.release.publish event="release published" '
        r"release_id=r-1 vertices=12\n",
        stream.getvalue(),
    )


def test_a_line_is_json(stream: io.StringIO) -> None:
    """The JSON format holds the same, numbers as numbers."""
    logs.get_logger("ktsafe.stream.release.publish").warning(
        "slot skipped", count=2, hint='say "no"'
    )
    [line] = json_lines(stream)
    assert {k: v for k, v in line.items() if k != "time"} == {
        "level": "warning",
        "logger": "ktsafe.stream.release.publish",
        "event": "slot skipped",
        "count": 2,
        "hint": 'say "no"',
    }


def test_unlisted_fields_are_dropped_and_counted(stream: io.StringIO) -> None:
    """A field that is not on the list cannot slip in, and its absence shows."""
    logs.get_logger("ktsafe.stream").info("joined", vertex="alice", count=1)
    assert "alice" not in stream.getvalue()
    [line] = json_lines(stream)
    assert (line["count"], line["fields_dropped"]) == (1, 1)


@pytest.mark.parametrize("style", ["text", "json"])
def test_arguments_of_messages_are_not_filled_in(style: str) -> None:
    """Standard logging with arguments shows the sentence without them."""
    stream = io.StringIO()
    logs.configure(format=style, stream=stream)  # type: ignore[arg-type]
    logging.getLogger("ktsafe.state.rocksdb").warning("cannot apply %s", "alice")
    assert "cannot apply %s" in stream.getvalue()
    assert "alice" not in stream.getvalue()


def test_errors_show_type_and_place_but_not_their_text(stream: io.StringIO) -> None:
    """An exception's text may hold a key of a dictionary, which may be a person's id."""
    try:
        {}["alice"]
    except KeyError:
        logging.getLogger("ktsafe.stream").exception("internal error")
    [line] = json_lines(stream)
    assert line["error"] == "KeyError"
    assert "test_logs.py" in str(line["at"])
    assert "alice" not in stream.getvalue()


def test_numbers_and_words_hold_nothing_else(stream: io.StringIO) -> None:
    """A sentence in a field for numbers or words is replaced, not written."""
    logs.get_logger("ktsafe.stream").info(
        "x", count="alice", reason="Alice Liddell, 7", seconds=1e999
    )
    [line] = json_lines(stream)
    assert (line["count"], line["reason"], line["seconds"]) == ("?", "?", "?")


def test_level_applies_to_ours_and_libraries_speak_from_warning_on(stream: io.StringIO) -> None:
    """Lines of ours appear from info on, those of libraries do not."""
    logs.get_logger("ktsafe.stream.service.loop").info("round")
    logging.getLogger("kafka.client").info("connected")
    logging.getLogger("kafka.client").warning("%s unreachable", "broker:9092")
    assert [line["event"] for line in json_lines(stream)] == ["round", "broker:9092 unreachable"]


def test_configuring_again_replaces() -> None:
    """Two calls give one line per event, on the second stream."""
    first, second = io.StringIO(), io.StringIO()
    logs.configure(stream=first)
    logs.configure(stream=second)
    logs.get_logger("ktsafe.stream").info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1


@given(text=st.text(), style=st.sampled_from(["text", "json"]))
def test_no_text_breaks_a_line(text: str, style: str) -> None:
    """Whatever a path or hint holds, an event is one bounded line without control characters."""
    stream = io.StringIO()
    logs.configure(format=style, stream=stream)  # type: ignore[arg-type]
    logs.get_logger("ktsafe.stream").info("x", hint=text, reason=text)
    line = stream.getvalue()
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert len(line) < 4 * logs.TEXT_CHARS_MAX + 1_000


def test_a_closed_stream_loses_the_line_and_nothing_else() -> None:
    """Logging to a closed stream raises nothing and prints no arguments elsewhere."""
    stream = io.StringIO()
    logs.configure(stream=stream)
    stream.close()
    logs.get_logger("ktsafe.stream").info("lost")


def test_crashes_show_no_text(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody caught is one line without the error's text, in the main thread and others."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    logs.install_crash_hooks()

    def fail() -> None:
        raise ValueError("alice")

    try:
        fail()
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert "alice" not in stream.getvalue()
    lines = json_lines(stream)
    assert [line["error"] for line in lines] == ["ValueError", "ValueError"]
    assert all(":fail" in str(line["at"]) for line in lines)


def test_a_crash_names_its_places(stream: io.StringIO, tmp_path: Path) -> None:
    """Places are those of the innermost calls, code of a module and lambdas among them."""
    code = "def outer():\n    return (lambda: 1 / 0)()\n" * 3 + "outer()\n"
    try:
        exec(compile(code, str(tmp_path / "our-module.py"), "exec"), {})  # noqa: S102 -- ours
    except ZeroDivisionError:
        logging.getLogger("ktsafe.stream").exception("internal error")
    at = str(json_lines(stream)[0]["at"])
    assert at.endswith("our-module.py:7:<module>,our-module.py:6:outer,our-module.py:6:<lambda>")
    logs.get_logger("ktsafe.stream").error("x", at="alice of Wonderland")
    assert json_lines(stream)[1]["at"] == "?"


def test_a_traceback_is_written_where_it_was_asked_for(
    stream: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is its owner's only; the log names it and holds no text of the error."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    logs.install_crash_hooks(tmp_path)
    try:
        raise ValueError("alice")
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    (path,) = tmp_path.iterdir()
    assert "ValueError: alice" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json_lines(stream)[0]["path"] == str(path)
    assert "alice" not in stream.getvalue()


CONNECTOR_ARGUMENTS = {
    "path",
    "type(error).__name__",
    "self._topic",
    "GROUP",
    "len(added)",
    "release_id",
    "self._pause_s",
    # Of a database: types of errors, and what the system says of a file.
    "error.hint",
}
"""What connectors may fill into their sentences, reviewed: settings, counts, published ids."""


def log_calls(*folders: str) -> list[tuple[str, ast.Call]]:
    """Return every call of a module's logger in some folders, with where it is."""
    calls = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=attr)) if (
                        attr in {*logs.LEVELS, "exception", "critical", "log"}
                    ):
                        calls.append((f"{path.relative_to(ROOT)}:{node.lineno}", node))
    return calls


def test_the_service_logs_fixed_sentences_and_listed_fields() -> None:
    """Every log call of the service has a literal sentence and only listed fields."""
    calls = [(w, c) for w, c in log_calls("stream") if not w.startswith("stream/process/logs.py")]
    assert calls
    for where, call in calls:
        assert [type(a) for a in call.args] == [ast.Constant], f"{where} builds its sentence"
        for field in call.keywords:
            assert field.arg in logs.FIELDS, f"{where} logs {field.arg}"


def test_connectors_fill_in_reviewed_arguments_only() -> None:
    """Connectors log literal sentences, filled in with settings, counts and published ids only."""
    calls = log_calls("connectors")
    assert calls
    for where, call in calls:
        sentence, *arguments = call.args
        assert isinstance(sentence, ast.Constant), f"{where} builds its sentence"
        unknown = {ast.unparse(argument) for argument in arguments} - CONNECTOR_ARGUMENTS
        assert not unknown, f"{where} logs {unknown}"


def test_nothing_goes_around_the_list_of_fields() -> None:
    """In service, state and mechanism only `stream/process/logs.py` imports standard logging."""
    users = [
        str(path.relative_to(ROOT))
        for folder in ("stream", "state", "ktsafe")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if re.search(r"^\s*(import|from) logging\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert users == ["stream/process/logs.py"]
