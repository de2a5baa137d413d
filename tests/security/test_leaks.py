"""What the form of a release could tell beside its content: order, ids, times, sizes, fields."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.connectors.base import ReleaseBundle
from ktsafe.connectors.files import FileReleaseSink
from ktsafe.connectors.kafka_topics import KafkaReleaseSink, KafkaSettings, chunks
from ktsafe.stream.files import releases_write

SCHEMA = Schema(("kind",), "health", frozenset({"ill"}))
SLOT_US = 1_767_225_600_000_000
N = 60


def graph_of(seed: int, order: np.ndarray | None = None) -> tuple[AttributedGraph, list[str]]:
    """Return a graph of fixed size and its published ids, its vertices in a given order."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["a", "b"], N).tolist()
    health = rng.choice(["ill", "well"], N).tolist()
    pairs = np.array([(u, v) for v in range(N) for u in range(v)])
    edges = pairs[rng.choice(len(pairs), N, replace=False)]
    ids = releases_write.random_ids(N, seed=seed)
    order = np.arange(N) if order is None else order
    place = np.argsort(order)
    columns = {
        "kind": [kinds[v] for v in order],
        "health": [health[v] for v in order],
    }
    graph = AttributedGraph.from_columns(SCHEMA, columns, place[edges])
    return graph, [ids[v] for v in order]


def written(folder: Path, graph: AttributedGraph, ids: list[str]) -> dict[str, bytes]:
    """Return the bytes of a release by file name."""
    header = releases_write.ReleaseHeader("000001-x", "s", SLOT_US, PrivacyParams(k=2))
    releases_write.write_release(folder, graph, ids, header)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_order_in_which_a_release_was_made_is_not_in_its_bytes(tmp_path: Path) -> None:
    """Inserted last, first, or anywhere: the same graph with the same ids is the same bytes."""
    found = []
    for number, order in enumerate(
        (None, np.arange(N)[::-1], np.random.default_rng(5).permutation(N))
    ):
        found.append(written(tmp_path / str(number), *graph_of(1, order)))
    assert found[0] == found[1] == found[2]


def test_ids_do_not_tell_who_was_inserted() -> None:
    """Over 400 draws the ids of the last tenth rank like all others, and every bit is fair."""
    ranks, bits = [], []
    for seed in range(400):
        drawn = np.array(
            [int(name, 16) for name in releases_write.random_ids(100, seed=seed)], np.uint64
        )
        ranks.append(np.argsort(np.argsort(drawn))[90:].mean())
        bits.append((drawn[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1))
    # A mean of 4,000 ranks out of 0..99 deviates from 49.5 by 0.44 on average.
    assert abs(np.mean(ranks) - 49.5) < 4 * 0.44
    share = np.concatenate(bits).mean(axis=0)
    assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(40_000)


def test_ids_of_two_releases_have_nothing_in_common() -> None:
    """Releases that are safe one by one share no id, nor does the order of ids follow."""
    first, second = (releases_write.random_ids(2_000) for _ in range(2))
    assert not set(first) & set(second)
    assert abs(np.corrcoef(np.argsort(first), np.argsort(second))[0, 1]) < 0.15


def test_manifests_of_graphs_of_one_size_differ_in_hashes_alone(tmp_path: Path) -> None:
    """Nothing but sizes, settings and slot, and what the tables say as well, is in a manifest."""
    manifests = []
    for seed in (1, 2):
        files = written(tmp_path / str(seed), *graph_of(seed))
        manifests.append(json.loads(files["manifest.json"]))
    hashes = [manifest.pop("sha256") for manifest in manifests]
    for manifest in manifests:
        # Every reader can count them in the tables, and `read_release` does.
        del manifest["classes"], manifest["dark"]
    assert manifests[0] == manifests[1]
    assert hashes[0] != hashes[1]


def test_published_folders_tell_no_time_and_no_owner_rights_of_their_own(tmp_path: Path) -> None:
    """Names, times and modes are equal for two graphs, whatever the umask of the service."""
    found = []
    for seed, umask in ((1, 0o077), (2, 0o000)):
        graph, ids = graph_of(seed)
        staged = tmp_path / f"staged-{seed}"
        names = tuple(written(staged, graph, ids))
        ordered = ("manifest.json", *(name for name in names if name != "manifest.json"))
        bundle = ReleaseBundle("000001-x", SLOT_US // 1000, staged, ordered)
        before = os.umask(umask)
        try:
            sink = FileReleaseSink(tmp_path / f"sink-{seed}")
            sink.open()
            sink.publish(bundle)
            sink.close()
        finally:
            os.umask(before)
        folder = tmp_path / f"sink-{seed}" / "000001-x"
        told = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
        found.append([(name, s.st_mtime_ns, stat.S_IMODE(s.st_mode)) for name, s in told])
    assert found[0] == found[1]
    assert {time for _, time, _ in found[0]} == {SLOT_US * 1_000}


@pytest.mark.parametrize("chunk_bytes", [64, 1_000, 100_000])
def test_records_of_a_topic_have_one_size(tmp_path: Path, chunk_bytes: int) -> None:
    """Chunks are cut without regard to rows: their size tells nothing of a vertex."""
    graph, ids = graph_of(1)
    names = sorted(written(tmp_path / "r", graph, ids).keys() - {"manifest.json"})
    pieces = list(chunks.cut(tmp_path / "r", names, chunk_bytes))
    assert {len(piece) for piece in pieces} == {chunk_bytes}
    total = sum((tmp_path / "r" / name).stat().st_size for name in names)
    assert len(pieces) == -(-total // chunk_bytes)


def test_records_are_not_compressed_and_name_no_host() -> None:
    """The size of a compressed record would tell of its content; client names are constant."""
    settings = KafkaSettings(bootstrap_servers=("127.0.0.1:1",))
    options = KafkaReleaseSink(settings, "t", transactional_id="ktsafe-releases")._options()
    assert options["compression_type"] is None
    assert options["client_id"] == "ktsafe"


def test_release_ids_are_number_and_slot() -> None:
    """An id follows from what is public: when it was made, or by whom, is not in it."""
    assert releases_write.release_id(3, SLOT_US) == "000003-20260101T000000Z"
