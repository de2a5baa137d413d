"""The gate: protection sets by the strict definition, in exact arithmetic.

Nothing here is shared with what searches for a release: this package imports the graph, the
parameters and the errors, and itself.
"""

from ktsafe.verify.kt_safe_verdict import Failure, Verdict
from ktsafe.verify.verifier import verify, verify_graph

__all__ = ["Failure", "Verdict", "verify", "verify_graph"]
