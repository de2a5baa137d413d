"""Where events come from, and where releases and dead letters go.

Of ours it imports the base of errors alone (tests/test_layers.py). What a record or a release means
is decided elsewhere: connectors carry bytes.
"""
