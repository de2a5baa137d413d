"""Event files as a source; folders as a sink of releases; a file of dead letters."""

from connectors.files.dead_letters import FileDeadLetterSink, blank_dead_letters
from connectors.files.reader import FileReleaseReader
from connectors.files.sink import FileReleaseSink
from connectors.files.source import FileSource

__all__ = [
    "FileDeadLetterSink",
    "FileReleaseReader",
    "FileReleaseSink",
    "FileSource",
    "blank_dead_letters",
]
