"""The configuration: read once, checked as a whole, handed on in narrow slices."""
