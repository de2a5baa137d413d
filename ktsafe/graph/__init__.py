"""Attributed graphs: their schema, vertices and edges, and how they are read."""

from ktsafe.graph.graph import MISSING, NONE, AttributedGraph, Groups, Schema

__all__ = ["MISSING", "NONE", "AttributedGraph", "Groups", "Schema"]
