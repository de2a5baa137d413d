"""The process itself: signals, logs, compiled kernels, private folders, version."""
