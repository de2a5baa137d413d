"""Releases of cohorts with equal counts attribute by attribute."""
