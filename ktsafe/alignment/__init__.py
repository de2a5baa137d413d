"""Groups under one shift: the strategy for any number of hops and both readings."""
