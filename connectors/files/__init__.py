"""Files: a source of events, and sinks of releases and dead letters."""

from ktsafe.connectors.files.file_source import FileSource
from ktsafe.connectors.files.sinks import (
    FileDeadLetterSink,
    FileReleaseReader,
    FileReleaseSink,
    blank_dead_letters,
)

__all__ = [
    "FileDeadLetterSink",
    "FileReleaseReader",
    "FileReleaseSink",
    "FileSource",
    "blank_dead_letters",
]
