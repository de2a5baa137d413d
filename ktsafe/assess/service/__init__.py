"""Hooks for the core, and attacks on each release.

The core does not know this room: it finds `hooks` by name. A hook more is a method of `Assessment`
first (`stream/assessment.py`).
"""
