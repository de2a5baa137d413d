"""Attribute values of inserted vertices, composites, and exchanged values."""
