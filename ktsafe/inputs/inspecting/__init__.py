"""What was understood of a network, told to its owner before anything is released."""

from ktsafe.inputs.inspecting.inspected import InspectedColumn, Inspection, inspect

__all__ = ["InspectedColumn", "Inspection", "inspect"]
