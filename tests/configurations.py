"""What configurations of tests have in common, as TOML; attributes and source are their own."""

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
