"""The table of faults: a trial that fails is told with its seed, and rows stay."""

import pytest

from tests.faults import trials
from tests.faults.__main__ import rows_of


def test_a_failing_trial_says_how_to_repeat_it(capsys):
    """A trial that loses something ends the command, and its seed is told."""

    def losing(_folder, _seed):
        raise AssertionError("a tie is missing")

    fault = trials.Fault("loss", "nowhere", "never", 3, losing)
    with pytest.raises(AssertionError, match="a tie is missing"):
        trials.tried(fault, 7)
    assert 'python -m tests.faults --only "loss" --seed 7' in capsys.readouterr().err


def test_a_page_keeps_the_rows_that_are_not_tried_again():
    """Rows are read back as they were written; those of before tell that they are older."""
    fault = trials.Fault("loss", "disk", trials.BY_ITSELF, 1, lambda *_: trials.Trial("seen"))
    outcome = trials.tried(fault, 11)
    page = "\n## Faults\n" + trials.table([outcome.row()])
    assert "| 1 | 11 | nothing |" in page
    assert rows_of(page) == {("loss", "disk"): outcome.row()}
    old = outcome.row().replace(f"| `{outcome.commit}` ", "")
    assert rows_of("\n## Faults\n" + trials.table([old])) == {
        ("loss", "disk"): outcome.row().replace(f"`{outcome.commit}`", "earlier")
    }
