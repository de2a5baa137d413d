"""Ties of a sequence: how they become visible, and how they leave."""
