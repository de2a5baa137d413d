"""Files: a source of events, and sinks of releases and dead letters."""

from ktsafe.connectors.files.dead_letter_files import FileDeadLetterSink, blank_dead_letters
from ktsafe.connectors.files.file_source import FileSource
from ktsafe.connectors.files.releases import FileReleaseReader, FileReleaseSink

__all__ = [
    "FileDeadLetterSink",
    "FileReleaseReader",
    "FileReleaseSink",
    "FileSource",
    "blank_dead_letters",
]
