"""Hooks for the core, and attacks on each release."""
