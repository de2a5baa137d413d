"""One call from a graph of the usual libraries to a verified release of the same kind."""

from ktsafe.protection.protect import protect
from ktsafe.protection.protected import PrivateMapping, Protected

__all__ = ["PrivateMapping", "Protected", "protect"]
