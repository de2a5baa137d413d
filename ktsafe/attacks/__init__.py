"""Attacks on releases, one file per attack, run against the truth by those who know it.

Attacks judge a release from outside: they share no code with what made it, verified it or audited
it. Their results are private: they tell how well an attacker fares.
"""

from ktsafe.attacks.case import Case, ids_removed
from ktsafe.attacks.result import Result
from ktsafe.attacks.suite import ATTACKS, run

__all__ = ["ATTACKS", "Case", "Result", "ids_removed", "run"]
