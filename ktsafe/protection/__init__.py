"""One call from a usual graph to a verified release alike."""

from ktsafe.protection.protect import protect
from ktsafe.protection.protected import PrivateMapping, Protected

__all__ = ["PrivateMapping", "Protected", "protect"]
