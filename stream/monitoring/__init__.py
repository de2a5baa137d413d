"""Figures for operators: metrics, status, diagnosis.

A figure may be added: a metric is a row of `metrics_table`. It takes notices of
`ktsafe.stream.observer` and shows them; no release depends on it. What tells of the true graph, or
secrets of a release, is marked so.
"""
