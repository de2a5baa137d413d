"""The configuration: read once, checked as a whole, in narrow slices."""
