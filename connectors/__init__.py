"""Where events come from, and where releases and dead letters go.

Imports no other package of ours.
"""
