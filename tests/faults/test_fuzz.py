"""A small run of the fuzzer over every target; `python -m tests.faults.fuzz` makes a great one."""

import pytest

from tests.faults import fuzz

pytest.importorskip("atheris", reason="atheris ships for Linux on x86_64 only")


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch):
    """Let no input be called endless because other processes have the machine."""
    monkeypatch.setattr(fuzz, "LIMIT_S", 300)
    monkeypatch.setattr(fuzz, "LIMITS_S", {})


def test_nothing_crashes_or_hangs(tmp_path, monkeypatch):
    """Some inputs, fewer where each starts a process: only named errors come out.

    No file is left in memory. A target that fails is told, and its input lies in a file.
    """
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(fuzz, "memory_folder", lambda: str(memory))
    inputs = dict.fromkeys(fuzz.SHARES, 60) | {"events": 300, "parquet": 3}
    found = fuzz.run({**inputs, "fails": 40}, 1, tmp_path)
    done, told = found.pop("fails")
    assert done < 40
    assert "planned by a test" in told
    assert list(tmp_path.glob("fails-crash-*"))
    assert {target: told for target, (_, told) in found.items() if told} == {}
    assert all(found[target][0] >= number for target, number in inputs.items())
    assert list(memory.iterdir()) == []
