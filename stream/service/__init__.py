"""The running service: its loop, its assembly, its control socket."""
