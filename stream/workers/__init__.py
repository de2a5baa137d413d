"""Workers for the parts of a release: threads, or processes on other machines."""
