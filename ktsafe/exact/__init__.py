"""Exact cohorts: releases in which all members of a cohort have equal rows of neighbour counts."""
