"""Statistics with differential privacy, beside the releases of a sequence."""
