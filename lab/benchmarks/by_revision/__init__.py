"""Benchmarks kept by revision, so that a slowdown or another result is seen in review."""
