"""Files that the service and its commands read and write.

What is published here is described in docs/schemas and docs/files.md; what a new file or field
could tell gets a row in ops/threat-model.md (tests/test_schemas.py refuses a field of a manifest
that is not listed).
"""
