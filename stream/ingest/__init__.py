"""From a record to a change of the true graph.

Decode, judge, hold, commit.
"""
