"""Attacks by what friends of a person have.

Sensitive values, and numbers of ties.
"""
