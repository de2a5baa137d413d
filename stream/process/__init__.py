"""The process itself: signals, logs, compiled kernels, private folders, version.

Nothing here knows what a release is. What a process settles must be settled before libraries are
loaded or threads begin (`ktsafe.stream.cli`, `ktsafe.stream.service.assembly.serve`).
"""
