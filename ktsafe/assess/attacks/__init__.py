"""Attacks on releases, one file each, for owners with the truth.

Attacks judge a release from outside: they share no code with what made it, verified it or audited
it. Their results are private: they tell how well an attacker fares. A new one is
registered in `suite`.
"""

from ktsafe.assess.attacks.common.case import Case, ids_removed
from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.suite import (
    ATTACKS,
    SEQUENCE_ATTACKS,
    attack_named,
    run,
    run_each,
    run_sequence,
)

__all__ = [
    "ATTACKS",
    "SEQUENCE_ATTACKS",
    "Case",
    "History",
    "Result",
    "attack_named",
    "ids_removed",
    "run",
    "run_each",
    "run_sequence",
]
