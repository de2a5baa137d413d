"""Comparisons and reports over many releases."""
