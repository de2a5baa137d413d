"""Structured logs on standard error.

A field may be added to `FIELDS` if it can never hold an id or a value; its kind bounds it. Log
calls take literal sentences and listed fields, and connectors fill in only reviewed arguments
(tests/stream/process/test_logs.py reads every call).

A fixed sentence and listed fields, nothing else.

    time=2026-01-01T00:00:00.000Z level=info logger=ktsafe.stream.release.publish \
        event="release published" ...

What could carry a person's id or an attribute value is kept out by construction: fields that are
not listed are dropped, arguments of messages are not filled in but for reviewed loggers, and an
error shows its type and place but not its text.
"""

from __future__ import annotations

import datetime
import enum
import json
import logging
import math
import re
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, TextIO, TypeAlias

Value: TypeAlias = str | int | float | bool | None


class Kind(enum.Enum):
    """What a field may hold."""

    NUMBER = "number"
    WORD = "word"
    TEXT = "text"
    PLACES = "places"


_NUMBERS: Final = (
    "attempt attempts_max bytes changed count edges epsilon events fewest interval_s k lag n_hops "
    "offset partition partitions pid port records seconds skipped vertices w wait_s"
)
# `release_id` and `sequence_id` are published anyway; `error` comes from the program, and `tables`
# are names of a database as far as they look like some.
_WORDS: Final = (
    "alpha clock error kind level op outcome phase reason release_id sequence_id signal slot t "
    "tables topic version"
)
# Topics, paths and brokers: the operator's own settings.
_TEXTS: Final = "hint host path subject url"
FIELDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(_NUMBERS.split(), Kind.NUMBER),
    **dict.fromkeys(_WORDS.split(), Kind.WORD),
    **dict.fromkeys(_TEXTS.split(), Kind.TEXT),
    "at": Kind.PLACES,
}
"""Every field a log line may have. Adding one means: it can never hold an id or a value."""

LEVELS: Final = ("info", "warning", "error")
TEXT_CHARS_MAX: Final = 300

_OURS: Final = "ktsafe"
# kafka-python's warnings name brokers, topics and offsets, never keys or values of records. The
# connectors know nothing of this module; a test lists what they may fill in.
_RENDERED: Final = re.compile(r"(kafka|ktsafe\.connectors)(\.|$)")
_WORD: Final = re.compile(r"[A-Za-z0-9_.,:/@+-]{1,128}")
_BARE: Final = re.compile(r"[A-Za-z0-9_.,:/@+-]+")
_PLACE: Final = r"[\w.<>-]{1,80}:\d{1,7}:[\w<>]{1,80}"
_PLACES: Final = re.compile(rf"unknown|{_PLACE}(,{_PLACE}){{0,5}}")
"""Files of the program, lines and functions; a module's own code is the function `<module>`."""


class Log:
    """A logger that takes a fixed sentence and listed fields."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def info(self, event: str, **fields: Value) -> None:
        """Log the normal course."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Value) -> None:
        """Log what an operator should know."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Value) -> None:
        """Log what an operator should act on."""
        self._log(logging.ERROR, event, fields)

    def _log(self, level: int, event: str, fields: Mapping[str, Value]) -> None:
        self._logger.log(level, event, extra={"fields": fields})


def get_logger(name: str) -> Log:
    """Return the structured logger of a module (`get_logger(__name__)`)."""
    return Log(logging.getLogger(name))


def configure(
    *,
    level: str = "info",
    format: Literal["text", "json"] = "text",  # noqa: A002 -- the configuration's word
    stream: TextIO | None = None,
) -> None:
    """Send the logs of this process to standard error, or to `stream`.

    Ours from `level` on, those of libraries from "warning" on. Calling it again replaces what an
    earlier call set up.
    """
    assert level in LEVELS
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _QuietHandler)]:
        root.removeHandler(handler)
    handler = _QuietHandler(stream or sys.stderr)
    handler.setFormatter(Formatter(format))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(level.upper())


def install_crash_hooks(tracebacks: Path | None = None) -> None:
    """Report uncaught errors as one log line: type and places, no text.

    Parameters
    ----------
    tracebacks:
        A folder for whole tracebacks, a file each of mode 0600. They hold texts of errors, and with
        them ids and values: they are private. By default none is written.
    """
    log = get_logger("ktsafe.stream.crash")

    def crashed(
        kind: type[BaseException], error: BaseException | None, tb: TracebackType | None
    ) -> None:
        path = _written(tracebacks, kind, error, tb) if tracebacks else None
        log.error("internal error", error=kind.__name__, at=_places(tb), path=path)

    def crashed_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            crashed(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = crashed
    threading.excepthook = crashed_in_thread


def _written(
    folder: Path, kind: type[BaseException], error: BaseException | None, tb: TracebackType | None
) -> str | None:
    """Write a traceback to a new private file and return its path.

    None if it cannot be written.
    """
    try:
        number, path = tempfile.mkstemp(prefix="ktsafe-crash-", suffix=".txt", dir=folder)
        with open(number, "w", encoding="utf-8") as file:  # noqa: PTH123 -- it is open already
            traceback.print_exception(kind, error, tb, file=file)
    except OSError:
        return None
    return path


class Formatter(logging.Formatter):
    """Renders a record as key=value or as one JSON object per line."""

    def __init__(self, style: Literal["text", "json"]) -> None:
        super().__init__()
        self._render = _as_text if style == "text" else _as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return one line without a line break in it."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, Value] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _message(record),
        }
        fields: Mapping[str, Value] = getattr(record, "fields", {})
        for name, value in fields.items():
            if name in FIELDS and value is not None:
                line[name] = _admitted(FIELDS[name], value)
        if unlisted := len(fields.keys() - FIELDS.keys()):
            line["fields_dropped"] = unlisted
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = _places(record.exc_info[2])
        return self._render(line)


class _QuietHandler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop the line: the standard way out would print the record's arguments."""


def _message(record: logging.LogRecord) -> str:
    """Return the fixed sentence.

    Arguments are filled in only for libraries known to be clean.
    """
    text = record.getMessage() if _RENDERED.match(record.name) else str(record.msg)
    return _clean(text)


def _admitted(kind: Kind, value: Value) -> Value:
    """Return a field's value if of the field's kind, else "?"."""
    match kind:
        case Kind.NUMBER:
            if isinstance(value, float):
                return round(value, 6) if math.isfinite(value) else "?"
            return value if isinstance(value, int) else "?"
        case Kind.WORD:
            return text if _WORD.fullmatch(text := str(value)) else "?"
        case Kind.TEXT:
            return _clean(str(value))
        case Kind.PLACES:
            return text if _PLACES.fullmatch(text := str(value)) else "?"


def _clean(text: str) -> str:
    """Return the text on one bounded line, harmless to terminals."""
    if len(text) > TEXT_CHARS_MAX:
        text = text[: TEXT_CHARS_MAX - 3] + "..."
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _places(tb: TracebackType | None) -> str:
    """Return where an error came through, innermost last, as `file:line:function` triples."""
    frames = traceback.extract_tb(tb)[-6:]
    return ",".join(f"{Path(f.filename).name}:{f.lineno}:{f.name}" for f in frames) or "unknown"


def _as_text(line: Mapping[str, Value]) -> str:
    return " ".join(f"{name}={_quoted(value)}" for name, value in line.items())


def _as_json(line: Mapping[str, Value]) -> str:
    return json.dumps(line, ensure_ascii=True, allow_nan=False)


def _quoted(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
