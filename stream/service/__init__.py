"""The running service: its loop, how it is put together, and how it is spoken to."""
