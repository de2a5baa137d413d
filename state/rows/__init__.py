"""Rows of tables, as they are held and resolved."""

from ktsafe.state.rows.resolving import Resolved, holds_rows, resolve

__all__ = ["Resolved", "holds_rows", "resolve"]
