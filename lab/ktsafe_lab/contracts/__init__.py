"""Contract tests for connectors and attacks of your own.

Derive a class, run pytest.

>>> from ktsafe_lab.contracts import ReleaseContract
>>> sorted(name for name in vars(ReleaseContract) if name.startswith("test_"))[:2]
['test_a_later_release_is_not_followed_by_an_earlier_one', 'test_a_new_instance_goes_on']

The connectors that come with the program pass the same tests. This package needs pytest.
"""

from ktsafe_lab.contracts.attack_contract import AttackContract
from ktsafe_lab.contracts.letter_contract import LetterContract, LetterWorld
from ktsafe_lab.contracts.release_contract import ReleaseContract, ReleaseWorld
from ktsafe_lab.contracts.source_contract import SourceContract, SourceWorld

__all__ = [
    "AttackContract",
    "LetterContract",
    "LetterWorld",
    "ReleaseContract",
    "ReleaseWorld",
    "SourceContract",
    "SourceWorld",
]
