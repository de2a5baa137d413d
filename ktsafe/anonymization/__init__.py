"""Safe releases of one graph: strategies, rare people, exchanged values."""
