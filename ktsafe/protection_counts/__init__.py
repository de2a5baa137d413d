"""Counts of protection sets: how many vertices each has, kept exactly as vertices move."""
