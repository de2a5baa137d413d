"""Cohorts within t and epsilon: strategy `tolerant`."""
