"""Groups under one shift.

The strategy for any number of hops and both readings.
"""
