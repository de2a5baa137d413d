"""Safe releases of one graph: strategies, rare people, exchanged values.

It searches, so it may be wrong: the verifier judges what comes out. Judges import nothing of it
(`MAY_ENTER` in tests/test_layers.py).
"""
