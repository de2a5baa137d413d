"""Columns that do not protect anybody and are published beside the graph."""

from ktsafe.columns.exchange import Columns, exchanged, exchanged_and_checked

__all__ = ["Columns", "exchanged", "exchanged_and_checked"]
