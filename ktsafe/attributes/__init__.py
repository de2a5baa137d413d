"""What is done to attribute values: rare classes, inserted vertices, composites."""
