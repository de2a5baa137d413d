"""Cohorts of equal targets: the default strategy for stars."""
