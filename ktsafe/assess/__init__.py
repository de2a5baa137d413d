"""Assessment of releases: attacks, reports, advice; the extra `ktsafe[assess]`.

Nothing here is needed to publish: the service calls it by `service.hooks` if it is installed, and
no room below may import it (tests/test_layers.py).
"""
