"""Comparisons and reports over many releases.

Comparisons may be added: they are for owners, and read folders as they were written (their formats
belong to `stream/files`).
"""
