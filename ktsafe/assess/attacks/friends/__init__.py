"""Attacks by what friends of a person have: sensitive values, and numbers of ties."""
