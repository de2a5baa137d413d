"""One call from a usual graph to a verified release alike.

Other ways of calling may be added. It stands above the service and uses its files, so a release is
written, read back and judged as there; what is searched and judged stays below.
"""

from ktsafe.protection.protect import protect
from ktsafe.protection.protected import PrivateMapping, Protected

__all__ = ["PrivateMapping", "Protected", "protect"]
