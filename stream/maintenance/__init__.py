"""Care for the state: erasure, backup, import, dead letters.

What is written here must survive a kill at any moment: work goes to a folder or file of another
name, which takes its place at the end.
"""
