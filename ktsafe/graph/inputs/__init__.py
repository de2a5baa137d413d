"""Read networks: files, tables and graphs in memory, or refuse them.

One rule holds for all: a reader says what it understood (`Network`); all else is refused by name,
or told as ignored. Texts of ids and values are made by one function
(`ktsafe.graph.inputs.spelling`).

A new kind of input is a reader that returns a `Network`, and a way to write random networks of that
kind in tests/ktsafe/graph/inputs; until it reads them all it is refused in `other_files`.
"""

from ktsafe.graph.inputs.edge_lists import read_network
from ktsafe.graph.inputs.in_memory import of_memory
from ktsafe.graph.inputs.network import Network

__all__ = ["Network", "of_memory", "read_network"]
