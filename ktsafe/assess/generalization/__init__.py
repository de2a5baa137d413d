"""How coarsely quasi-identifiers are told.

Hierarchies of values, and the search among settings.
"""
