"""Every simulated fault, once: nothing is lost, and what an operator should see is said."""

import dataclasses

import pytest

from tests.faults import simulated, trials
from tests.faults.__main__ import rows_of
from tests.memory_connectors import MemorySource, unavailable


@pytest.mark.parametrize("fault", simulated.FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault):
    """The trial's own checks: graph, history, bytes, dead letters."""
    outcome = trials.tried(dataclasses.replace(fault, times=1), 11)
    assert outcome.trials[0].seen
    assert "| 1 | 11 | nothing |" in outcome.row()


def test_a_source_that_cannot_be_told_does_not_repeat_a_checkpoint(tmp_path):
    """What is durable stays so when lag tools cannot be told, at a release cut too."""
    world = simulated.world_of(tmp_path)
    log = world.log

    class Forgetful(MemorySource):
        def acknowledge(self, positions):
            raise unavailable("commit offsets")

    world.open_source = lambda: Forgetful(log)
    world.run()
    simulated.check(world, {})


def test_a_failing_trial_says_how_to_repeat_it(capsys):
    """A trial that loses something ends the command, and its seed is told."""

    def losing(_folder, _seed):
        raise AssertionError("a tie is missing")

    fault = trials.Fault("loss", "nowhere", "never", 3, losing)
    with pytest.raises(AssertionError, match="a tie is missing"):
        trials.tried(fault, 7)
    assert 'python -m tests.faults --only "loss" --seed 7' in capsys.readouterr().err


def test_the_checks_notice_a_lost_record(tmp_path, monkeypatch):
    """A service that drops a record on the way is found out by the same checks."""
    world = simulated.world_of(tmp_path)
    world.log.items[1][0] = None
    world.run()
    with pytest.raises(AssertionError):
        simulated.check(world, {})


def test_a_page_keeps_the_rows_that_are_not_tried_again():
    """Rows are read back as they were written; those of before tell that they are older."""
    outcome = trials.Outcome(simulated.FAULTS[0], 1, (trials.Trial("seen"),), "abc1234")
    page = "\n## Faults\n" + trials.table([outcome.row()])
    key = (simulated.FAULTS[0].name, "simulation")
    assert rows_of(page) == {key: outcome.row()}
    old = outcome.row().replace("| `abc1234` ", "")
    assert rows_of("\n## Faults\n" + trials.table([old])) == {
        key: outcome.row().replace("`abc1234`", "earlier")
    }
