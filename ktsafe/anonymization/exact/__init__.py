"""Exact cohorts: releases with equal rows of neighbour counts."""
