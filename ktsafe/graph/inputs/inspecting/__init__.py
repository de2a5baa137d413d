"""A report on a network, for its owner, before any release."""

from ktsafe.graph.inputs.inspecting.inspected import InspectedColumn, Inspection, inspect

__all__ = ["InspectedColumn", "Inspection", "inspect"]
