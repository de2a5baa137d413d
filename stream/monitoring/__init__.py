"""Figures for operators: metrics, status, diagnosis.

It takes notices of `ktsafe.stream.observer` and shows them; no release depends on it. What tells of
the true graph, or secrets of a release, is marked so.
"""
