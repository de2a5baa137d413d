"""The running service: its loop, its assembly, its control socket.

The loop's thread alone touches source and store; others read reports or ask it. Nothing here
decides what a release shows.
"""
