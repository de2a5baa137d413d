"""Dated dumps of the whole network as a source.

What changed between them becomes events.
"""

from ktsafe.connectors.snapshots.dumps import Dump, places
from ktsafe.connectors.snapshots.snapshot_source import SnapshotSource

__all__ = ["Dump", "SnapshotSource", "places"]
