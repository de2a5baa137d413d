"""Files: sources of events and dumps, sinks of releases and dead letters.

A class that others may use is listed here; its kind in a configuration stands in
`ktsafe.stream.config.connector_tables`.
"""

from ktsafe.connectors.files.dumps import Dump, places
from ktsafe.connectors.files.file_source import FileSource
from ktsafe.connectors.files.release_folders import FileReleaseReader, FileReleaseSink
from ktsafe.connectors.files.snapshot_source import SnapshotSource
from ktsafe.connectors.letters import FileDeadLetterSink, blank_dead_letters

__all__ = [
    "Dump",
    "FileDeadLetterSink",
    "FileReleaseReader",
    "FileReleaseSink",
    "FileSource",
    "SnapshotSource",
    "blank_dead_letters",
    "places",
]
