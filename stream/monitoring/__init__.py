"""Figures for operators: metrics, status, diagnosis."""
