"""One call from a graph of the usual libraries to a verified release of the same kind."""

from ktsafe.protection.protect import PrivateMapping, Protected, protect

__all__ = ["PrivateMapping", "Protected", "protect"]
