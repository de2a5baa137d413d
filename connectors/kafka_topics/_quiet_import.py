"""Imports kafka-python first, without the warnings it gives rise to.

kafka-python 3.0 reads its message schemas with `importlib.resources.read_text`, which Python 3.11
calls deprecated; where warnings are errors, the import would fail.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    import kafka.admin
    import kafka.consumer
    import kafka.producer

__all__ = ["kafka"]
