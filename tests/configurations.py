"""What configurations of tests have in common, as TOML."""

KEPT_IN_FILES = """
[sink]
kind = "files"
folder = "releases"
[dead_letters]
kind = "files"
path = "letters.jsonl"
[state]
folder = "state"
[release]
min_f1 = 0.0
every = "1d"
"""
SCHEMA = """
[attributes]
quasi_identifiers = ["gender"]
sensitive = "health"
sensitive_values = ["ill"]
"""
FEED = """
[source]
kind = "files"
paths = ["feed.jsonl"]
"""
CONFIG = SCHEMA + FEED + KEPT_IN_FILES
"""A whole configuration, of files alone."""
