"""The running service: its loop, its assembly, its control socket.

The loop's thread alone touches source and store; others read reports or ask it. Work may be divided
otherwise, if a crash at any call still changes no byte (tests/stream/service/test_crashes.py).
Nothing here decides what a release shows.
"""
