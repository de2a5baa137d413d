"""The laboratory of ktsafe.

What serves comparison and research, and no service needs.

The paper's own strategies, two strategies that use its tolerance, `ktsafe-lab compare`, and
figures of releases. It stands upon `ktsafe`, which imports nothing of it and finds its strategies
by entry points.
"""
