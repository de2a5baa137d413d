"""Workers for the parts of a release.

Threads, or processes on other machines.
"""
