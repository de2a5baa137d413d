"""From a cut to a published release: build, stage, verify, audit, publish.

Checks may be added before STAGED; after it only the recorded bytes count. What changes bytes
of releases is a change of the mechanism, not of this room.
"""
