"""Ties of a sequence.

Which are shown, pair of classes by pair of classes.
"""
