"""The report: what a release promises, what it is worth, and for whom it holds least."""
