"""Tolerant releases: protection sets as wide as t and epsilon allow."""
