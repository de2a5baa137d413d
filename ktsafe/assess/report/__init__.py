"""The report: a release's promise, its worth, and its least protected people."""
