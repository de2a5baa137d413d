"""Workers for the parts of a release: threads, or a cluster's processes."""
