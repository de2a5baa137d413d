"""Tests of the connectors: one contract per seam, over every implementation."""
