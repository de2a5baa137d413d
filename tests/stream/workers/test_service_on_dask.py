"""The service through a cluster, killed: each release once, with the bytes of threads."""

from __future__ import annotations

from tests import services
from tests.stream.workers.cluster import local_cluster
from tests.trials import running


def test_kill_9_changes_no_byte_of_a_sequence_on_a_cluster(tmp_path):
    """A service that is killed while a cluster works for it publishes what threads would have."""
    published = []
    with local_cluster() as address:
        for kills, workers in ((0, "threads = 1"), (2, f'dask = "{address}"')):
            folder = tmp_path / str(kills)
            folder.mkdir()
            site = running.files_site(
                folder / "site", [services.small_feed()], services.ATTRIBUTES, "month", "all"
            )
            text = site.config.read_text().replace("[release]", "[release]\nseed = 7")
            site.config.write_text(f"{text}\n[workers]\n{workers}\n")
            services.drain_with_kills(site, kills, 3, folder, within_s=6.0)
            site.releases(folder / "read")
            tables = (folder / "read").glob("*/*s.csv")
            published.append({str(t.relative_to(folder)): t.read_bytes() for t in tables})
            running.verify_releases([folder / "read"])
            assert list((site.folder / "state").glob("tasks/*.arrays")) == []
    assert published[0] == published[1]
    assert len(published[0]) >= 6
