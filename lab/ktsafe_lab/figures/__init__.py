"""Figures of releases for research.

Beta-likeness, link density, lower bounds of the cost.
"""
