"""Releases whose cohorts have equal counts attribute by attribute."""
