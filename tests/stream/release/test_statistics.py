"""Statistics beside releases: accounted for, the same after a crash, refused when they lie."""

import datetime
import hashlib
import json

import numpy as np
import pytest

from ktsafe.graph.synthetic import uniform
from ktsafe.sequence import SequenceOptions
from ktsafe.state.ledger import ReleaseRecord, Status
from ktsafe.stream.files.release_tables import STATISTICS, Spent
from ktsafe.stream.files.releases_read import ReleaseUnreadable, read_manifest, read_release
from ktsafe.stream.files.releases_write import ReleaseHeader, write_release
from ktsafe.stream.release import snapshotter
from ktsafe.stream.release.snapshotter import FILES_PER_YEAR, share_micro, spent_micro
from ktsafe.stream.slots import parse_slots
from tests.stream.release.test_linked import EVENTS, PARAMS
from tests.stream.service.simulation import World

OPTIONS = SequenceOptions(effort="fast", sybil_margin=0, margin=0)
PER_RELEASE = 300_000
PER_YEAR = PER_RELEASE * FILES_PER_YEAR


@pytest.fixture
def every_slot(monkeypatch):
    """Let each nominal time count as a month of its own."""
    monkeypatch.setattr(snapshotter, "MONTH", len("2026-01-01T00:00:00Z"))


def world_of(folder, per_year=PER_YEAR):
    world = World(folder, [EVENTS], params=PARAMS, sequence=OPTIONS, seed=3)
    world.epsilon_per_year_micro = per_year
    return world


def folders(world, under):
    """Write the releases of a world to folders; return them in order."""
    found = []
    for release_id, (_, files) in sorted(world.releases.releases.items()):
        folder = under / release_id
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        found.append(folder)
    return found


@pytest.mark.usefixtures("every_slot")
def test_what_manifests_add_up_to_is_what_the_ledger_knows(tmp_path):
    """Separate sums agree: of manifests, of files, of the ledger and of private audits."""
    world = world_of(tmp_path)
    world.run()
    there = folders(world, tmp_path / "read")
    assert len(there) == 5
    assert sum(read_manifest(f).statistics.epsilon_micro for f in there) == 5 * PER_RELEASE
    assert sum(read_release(f).statistics.epsilon_micro for f in there) == 5 * PER_RELEASE
    audits = sorted((tmp_path / "audit").glob("*/audit.json"))
    told = [json.loads(path.read_text())["statistics"] for path in audits]
    assert [each["left_micro"] for each in told] == [
        PER_YEAR - i * PER_RELEASE for i in range(1, 6)
    ]
    assert [each["spent_micro"] for each in told] == [i * PER_RELEASE for i in range(1, 6)]


@pytest.mark.usefixtures("every_slot")
def test_from_manifests_alone_any_year_costs_no_more_than_the_budget(tmp_path, monkeypatch):
    """Plain json and calendar: no code of the project adds up here. Beyond it a release says so."""
    year = datetime.timedelta(days=365)
    for name, per_year in (("whole", PER_YEAR), ("short", 2 * PER_RELEASE)):
        # Shares are as large in both, as after the budget was lowered.
        monkeypatch.setattr(snapshotter, "share_micro", lambda *_: PER_RELEASE)
        world = world_of(tmp_path / name, per_year)
        world.run()
        spent = []
        for folder in folders(world, tmp_path / name / "read"):
            manifest = json.loads((folder / "manifest.json").read_text())
            cost = manifest["statistics"]["epsilon_micro"]
            told = folder / "statistics.json"
            assert told.exists() == (cost > 0)
            assert manifest["statistics"].get("omitted", False) == (cost == 0)
            assert cost == (json.loads(told.read_text())["epsilon_micro"] if cost else 0)
            at = datetime.datetime.fromisoformat(manifest["nominal_time"])
            spent.append((at, cost))
            assert read_release(folder).manifest.statistics.epsilon_micro == cost
        for end, _ in spent:
            assert sum(cost for at, cost in spent if end - year < at <= end) <= per_year
        wanted = [PER_RELEASE] * 5 if name == "whole" else [*[PER_RELEASE] * 2, 0, 0, 0]
        assert [cost for _, cost in spent] == wanted


def test_a_release_that_would_overspend_omits_the_file_and_says_so(tmp_path):
    """The manifest says that it is omitted; one that says neither that nor a cost is refused."""
    header = ReleaseHeader("000001-x", "s", None, PARAMS, statistics_omitted=True)
    graph = uniform(30, 60, n_tuples=1, rng=np.random.default_rng(0))
    write_release(tmp_path / "r", graph, [f"{i:016x}" for i in range(30)], header)
    assert read_manifest(tmp_path / "r").statistics == Spent(0, omitted=True)
    assert read_release(tmp_path / "r").statistics is None
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    manifest["statistics"] = {"epsilon_micro": 0}
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseUnreadable):
        read_release(tmp_path / "r")


@pytest.mark.usefixtures("every_slot")
def test_gains_and_losses_are_those_of_the_true_graph(tmp_path):
    """With hardly any noise the tables of changes say what the feed did between releases."""
    world = world_of(tmp_path, PER_YEAR * 10**9)
    world.run()
    there = folders(world, tmp_path / "read")
    totals = []
    for folder in there:
        tables = {t.of: t for t in read_release(folder).statistics.tables if t.across is None}
        totals.append((sum(tables["people"].counts), sum(tables["ties"].counts)))
        assert ("changes of ties" in tables) == (folder != there[0])
    for i, folder in enumerate(there[1:], start=1):
        tables = {t.of: t.counts for t in read_release(folder).statistics.tables}
        (joined, left), (gained, lost) = tables["changes of people"], tables["changes of ties"]
        assert totals[i][0] - totals[i - 1][0] == joined - left
        assert totals[i][1] - totals[i - 1][1] == gained - lost
        assert min(joined, left, gained, lost) >= 0
    assert len({n_ties for _, n_ties in totals}) > 1


def test_a_month_has_one_file(tmp_path, monkeypatch):
    """The first release of a month has it, or the first that has what it costs."""
    for n_dear in (0, 1):
        costs = iter([*[PER_YEAR + 1] * n_dear, *[PER_RELEASE] * 5])
        monkeypatch.setattr(snapshotter, "share_micro", lambda *_, costs=costs: next(costs))
        world = world_of(tmp_path / str(n_dear))
        world.run()
        there = folders(world, tmp_path / f"read {n_dear}")
        told = [read_manifest(folder).statistics for folder in there]
        wanted = [Spent(0, omitted=True)] * 5
        wanted[n_dear] = Spent(PER_RELEASE)
        assert told == wanted


def test_without_a_budget_nothing_is_added(tmp_path):
    """There is no file, and no field in the manifest."""
    world = world_of(tmp_path, per_year=0)
    world.run()
    for folder in folders(world, tmp_path / "read"):
        assert not (folder / STATISTICS).exists()
        assert "statistics" not in json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("every", ["30s", "1d", "14d", "4w", "month"])
def test_a_year_of_slots_spends_no_more_than_a_year_may_cost(every):
    """Whichever 365 days are taken, over a leap year: the first release of each month costs."""
    slots, slot = parse_slots(every), 1_830_000_000_000_000
    per_year = 5_000_000
    records, months = [], set()
    for i in range(1 if every == "30s" else 800 if every == "1d" else 60):
        slot = slots.at_or_after(slot + 1)
        share = share_micro(per_year, slots, slot)
        assert share > 0
        at = datetime.datetime.fromtimestamp(slot // 1_000_000, datetime.UTC)
        cost = 0 if (at.year, at.month) in months else share
        months.add((at.year, at.month))
        assert spent_micro(records, slot) + cost <= per_year
        records.append(
            ReleaseRecord(
                i + 1, f"r{i}", "s", slot, {}, {}, Status.PUBLISHED, 1, 1, epsilon_micro=cost
            )
        )


@pytest.mark.parametrize("change", ["cost", "value", "hidden", "length"])
def test_statistics_that_lie_are_refused(tmp_path, change):
    """Also where the hash fits."""
    world = world_of(tmp_path)
    world.run()
    folder = folders(world, tmp_path / "read")[0]
    told = json.loads((folder / STATISTICS).read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    if change == "cost":
        told["epsilon_micro"] -= 1
    elif change == "value":
        told["tables"][0]["cells"][0] = ["nobody"]
    elif change == "length":
        told["tables"][0]["counts"].pop()
    else:
        del manifest["statistics"]
    (folder / STATISTICS).write_text(json.dumps(told))
    manifest["sha256"][STATISTICS] = hashlib.sha256((folder / STATISTICS).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseUnreadable):
        read_release(folder)
