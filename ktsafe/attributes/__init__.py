"""What is done to attribute values: those of inserted vertices, composites."""
