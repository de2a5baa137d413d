"""From a cut to a published release: build, stage, verify, audit, publish."""
