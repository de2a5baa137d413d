#!/usr/bin/env bash
# A histogram of prometheus-client does not count a NaN, and can then not be scraped as OpenMetrics
#
# Guess:    what is observed is counted, at least in the bucket of infinity, or refused
# Seen:     a NaN is in no bucket and not in the count, but in the sum, which stays NaN;
#           the client's own parser of OpenMetrics refuses the page with it
# Versions: prometheus-client 0.26.0; Python 3.11.
# Output seen:
#   3 observed: count 2, sum nan
#   parser: Counter-like samples cannot be NaN: release_seconds_sum NaN
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check prometheus-client==0.26.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.openmetrics import exposition, parser

registry = CollectorRegistry()
seconds = Histogram("release_seconds", "Time of a release.", registry=registry)
for each in (1.0, float("nan"), 2.0):
    seconds.observe(each)
count, total = (registry.get_sample_value(f"release_seconds_{each}") for each in ("count", "sum"))
print(f"3 observed: count {count:.0f}, sum {total}")
page = exposition.generate_latest(registry).decode()
try:
    list(parser.text_string_to_metric_families(page))
    refused = ""
except ValueError as error:
    refused = str(error)
print("parser:", refused)
assert count == 2
assert total != total
assert "cannot be NaN" in refused
PY
