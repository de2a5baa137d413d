"""Read tables of people and of ties, and edge lists.

They are text in columns, or Parquet.
"""

from ktsafe.graph.inputs.tables.edge_lists import read_network
from ktsafe.graph.inputs.tables.names import chosen_columns
from ktsafe.graph.inputs.tables.people_and_ties import People, Ties

__all__ = ["People", "Ties", "chosen_columns", "read_network"]
