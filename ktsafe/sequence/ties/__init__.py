"""Ties of a sequence: which are shown, pair of classes by pair of classes."""
