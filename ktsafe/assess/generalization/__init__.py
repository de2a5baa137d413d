"""Generalization of quasi-identifiers: hierarchies, and a search among settings.

All of it may be searched otherwise: it only proposes. What is published is what the owner takes
over into a schema, and is judged like any other.
"""
