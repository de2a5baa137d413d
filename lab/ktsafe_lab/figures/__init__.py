"""Figures of releases for research: beta-likeness, link density, lower bounds of the cost."""
