"""Releases that are safe one by one (w = 1), each made from the one before."""

from ktsafe.incremental.carrying import Release
from ktsafe.incremental.engine import IncrementalReleases, Step
from ktsafe.incremental.pages import ReleaseCorrupted

__all__ = ["IncrementalReleases", "Release", "ReleaseCorrupted", "Step"]
