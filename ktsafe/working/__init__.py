"""The graph while it is searched: adjacency that changes, random numbers, shared work."""
