"""The gate: protection sets by the strict definition, in exact arithmetic.

Nothing here is shared with what searches for a release: this package imports the graph, the
parameters, the errors and the options of kernels (`MAY_ENTER` in tests/test_layers.py). It may be
made faster, never laxer: tests/ktsafe/verify/test_verifier.py counts by the definition.
"""

from ktsafe.verify.checked_ties import CheckedTies
from ktsafe.verify.kt_safe_verdict import Failure, Verdict
from ktsafe.verify.verifier import verify, verify_graph

__all__ = ["CheckedTies", "Failure", "Verdict", "verify", "verify_graph"]
