"""Benchmarks kept by revision, so a slowdown or another result is seen in review."""
