"""Attributed graphs: their schema, vertices and edges, and how they are read.

Judges and searchers share this room (`MAY_ENTER` in tests/test_layers.py), so nothing that
searches, judges or tells one from the other belongs here.
"""

from ktsafe.graph.graph import MISSING, NONE, AttributedGraph, Groups, Schema

__all__ = ["MISSING", "NONE", "AttributedGraph", "Groups", "Schema"]
