"""Assessment of releases: attacks, reports, advice; the extra `ktsafe[assess]`.

Anything may be added or changed that publishing does not need: the service calls it by
`commands.hooks` if it is installed, and no room below may import it (tests/test_layers.py).
"""
