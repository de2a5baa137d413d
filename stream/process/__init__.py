"""The process itself: signals, logs, compiled kernels, private folders, version.

What commands and the service both need of a process may be added; nothing here knows what a release
is. What a process settles must be settled before libraries are loaded or threads begin
(`ktsafe.stream.cli`, `ktsafe.stream.service.assembly.serve`).
"""
