# Everything a developer or a first-time user runs. `make` prints what there is.

PYTHON ?= python3
SEED ?= 1
NAME ?=
DATA ?=
KAFKA ?=
KILLS ?= 0
SEEDS ?= 10000
HISTORIES ?= 100
INPUTS ?= 1000000
OUT ?= var/paper
FULL ?=
# Processes that share the tests. Each collects all of them, loads the kernels, and starts a broker of
# its own when it needs one; tests that wait leave room for one more than there are cores.
TEST_WORKERS ?= 3

VENV := .venv
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
RUN := $(VENV)/bin/python
PIP_TOOLS := 7.6.2
PIN := pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
	--no-emit-options
PACKAGES := ktsafe state connectors stream
CODE := $(PACKAGES) lab tests ops setup.py

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help peers run test lint format typecheck audit check bench bench-all paper record trials trials-sequence simulate histories databases faults fuzz \
	docs reference planted integration broker-start broker-stop screenshots prometheus wheel sbom constraints clean java

help: ## print this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | \
		awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

run: $(READY) ## generate a social feed, run the service on it, publish verified releases in ./var
	$(VENV)/bin/ktsafe demo --dir ./var

test: $(STAMP) ## run all tests; those with a Kafka broker need Java and Maven, else they are skipped
	@$(MAKE) -s java 2>/dev/null || echo "Without Java and Maven the Kafka tests are skipped" \
		"(Debian: apt-get install default-jre-headless maven)."
	$(RUN) -m pytest -n $(TEST_WORKERS) --dist worksteal

lint: $(STAMP) ## check style and formatting
	$(RUN) -m ruff check $(CODE)
	$(RUN) -m ruff format --check $(CODE)

format: $(STAMP) ## fix formatting and what else can be fixed
	$(RUN) -m ruff check --fix-only $(CODE)
	$(RUN) -m ruff format $(CODE)

# A tree of links shows the packages where they are installed: mypy runs no import hooks.
typecheck: $(STAMP) ## check types, strictly
	rm -rf build/installed && mkdir -p build/installed/ktsafe
	ln -s $(CURDIR)/lab/ktsafe_lab $(CURDIR)/lab build/installed/
	ln -s $(CURDIR)/ktsafe/* $(addprefix $(CURDIR)/,$(filter-out ktsafe,$(PACKAGES))) build/installed/ktsafe
	cd build/installed && $(CURDIR)/$(RUN) -m mypy --config-file $(CURDIR)/pyproject.toml

audit: ## look the pinned dependencies up among known vulnerabilities; ends with 75 without a network
	.ci/audit

check: lint typecheck test ## all that must pass before a change goes in

bench: $(STAMP) ## run the benchmarks; NAME=ingest selects one
	$(RUN) -m lab.benchmarks $(NAME)

bench-all: $(STAMP) java ## benchmarks of a review, six minutes, beside earlier revisions: lab/results/benchmarks.md
	$(RUN) -m lab.benchmarks.by_revision

paper: $(STAMP) ## run the paper's evaluation again: DATA=folder, OUT=var/paper, FULL=1 for its sizes; goes on
	$(RUN) -m lab.evaluation --out $(OUT) $(if $(DATA),--data $(DATA)) $(if $(FULL),--full)

peers: $(STAMP) ## our releases beside k-degree, TmF and PrivGraph, by PGB's queries: DATA=folder, OUT=var/paper
	mkdir -p $(OUT)
	$(RUN) -m lab.evaluation.peers $(if $(DATA),--data $(DATA)) --out $(OUT)/peers.jsonl

record: $(STAMP) ## record what must stay equal while code is rebuilt: DATA=folder, OUT=var/paper
	$(RUN) -m lab.recording --out $(OUT)/record.json $(if $(DATA),--data $(DATA))

trials: $(STAMP) ## run real feeds through the service: DATA=folder, KAFKA=host:port, KILLS=25
	$(RUN) -m lab.trials.end_to_end $(DATA) $(if $(KAFKA),--kafka $(KAFKA)) --kills $(KILLS)

trials-sequence: $(STAMP) ## real feeds and erasure as sequences (w = all), audited, and beside their bars: DATA=folder
	$(RUN) -m lab.trials.sequences $(DATA)
	$(RUN) -m lab.trials.following $(DATA)
	$(RUN) -m lab.trials.erasure $(DATA)/cora --seeds 5

simulate: $(STAMP) ## histories of the whole service with faults at every step: SEEDS=10000, SEED=7 repeats one
	$(RUN) -m tests.histories --seeds $(SEEDS) $(if $(filter command%,$(origin SEED)),--seed $(SEED))

histories: $(STAMP) java ## histories on a real broker, with its ways cut and two services: HISTORIES=100, SEED=7
	$(RUN) -m tests.histories.on_links --seeds $(HISTORIES) $(if $(filter command%,$(origin SEED)),--seed $(SEED))

planted: $(STAMP) ## plant defects in copies one by one, and ask the test named for each: NAME=room or id
	$(RUN) -m tests.planted $(NAME)

databases: $(STAMP) java ## statements on a real PostgreSQL, told by a real Debezium, beside the graph: HISTORIES=100
	$(RUN) -m lab.trials.databases --histories $(HISTORIES)
	$(RUN) -m lab.trials.databases.live

faults: $(STAMP) ## limits of disk, files and memory, wrong dates, single bits, erasures under kill -9
	$(RUN) -m pytest -m faults -n $(TEST_WORKERS) tests/faults

fuzz: $(STAMP) ## fuzz all that reads bytes from outside, backups and Parquet included: INPUTS=1000000
	$(RUN) -m tests.faults.fuzz --inputs $(INPUTS)

integration: $(STAMP) java ## run only the tests with a real Kafka broker
	CI=true $(RUN) -m pytest -m integration

broker-start: $(STAMP) java ## start a Kafka broker on loopback, data in ./var/broker; prints its address
	$(RUN) ops/broker/broker.py start

broker-stop: $(STAMP) ## stop that broker
	$(RUN) ops/broker/broker.py stop

screenshots: $(STAMP) ## picture dashboards and reports in ./docs; DATA=folder: a report of it, too
	$(RUN) -m tests.ops.screenshots docs/screenshots
	$(RUN) -m tests.ops.report_screenshots docs/screenshots $(DATA)

prometheus: var/prometheus/usr/bin/promtool ## fetch Prometheus from Debian into ./var, for tests/ops

docs: $(STAMP) ## build the documentation site into ./build/site; a warning fails
	$(RUN) ops/site/build.py build/site

reference: $(STAMP) ## write the reference of configuration, commands and metrics from the code
	$(RUN) -m tests.ops.reference docs

wheel: $(STAMP) ## build the wheels into ./dist
	rm -rf build/lib build/bdist.*  # Modules that are gone would be packed, too.
	$(RUN) -m build --wheel
	$(RUN) -m build --wheel --outdir dist lab

sbom: $(STAMP) ## write what a service installs, with hashes, as CycloneDX: build/ktsafe.cdx.json
	mkdir -p build
	$(RUN) -m cyclonedx_py requirements constraints-run.txt --pyproject pyproject.toml --output-reproducible -o build/ktsafe.cdx.json

constraints: $(READY) ## write the files of constraints anew, with the newest versions admitted, and the lowest
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet 'pip-tools==$(PIP_TOOLS)'
	build/constraints/bin/$(PIN) --all-build-deps --extra dev --extra service \
		--output-file build/constraints/all.txt pyproject.toml
	build/constraints/bin/$(PIN) --constraint build/constraints/all.txt --all-build-deps \
		--extra assess --extra parquet --extra service --extra dask \
		--output-file build/constraints/run.txt pyproject.toml
	echo uv | build/constraints/bin/$(PIN) --output-file build/constraints/uv.txt -
	{ sed -n '/^#/p' constraints.txt; sed '/^$$/d' build/constraints/all.txt; } > build/all.txt
	{ sed -n '/^#/p' constraints-run.txt; sed '/^$$/d' build/constraints/run.txt; } > build/run.txt
	{ sed -n '/^#/p' constraints-uv.txt; sed '/^$$/d' build/constraints/uv.txt; } > build/uv.txt
	mv build/all.txt constraints.txt && mv build/run.txt constraints-run.txt
	mv build/uv.txt constraints-uv.txt
	$(RUN) -m uv pip compile --quiet --native-tls --resolution lowest-direct --generate-hashes \
		--no-header --no-annotate --extra assess --extra parquet --extra service \
		--output-file build/lowest.txt pyproject.toml
	{ sed -n '/^#/p' constraints-lowest.txt; cat build/lowest.txt; } > build/lowest-constraints.txt
	mv build/lowest-constraints.txt constraints-lowest.txt
	rm -rf build/constraints

clean: ## remove the environment and everything built; ./var with state and releases stays
	rm -rf $(VENV) build dist *.egg-info lab/*.egg-info lab/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(PACKAGES) lab tests ops -name __pycache__ -type d -prune -exec rm -rf {} +

# pip takes seven times as long; it knows the way to an index that only its settings name.
define install
$(RUN) -m uv pip install --quiet --native-tls --require-hashes -r $(1) || \
		$(RUN) -m pip install --quiet --no-compile --require-hashes -r $(1)
endef

# What a service needs. Bytecode is made when a module is first imported: most never are.
$(READY): pyproject.toml setup.py constraints-uv.txt constraints-run.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or later is needed as $(PYTHON) (Debian: apt-get install python3)." \
			"Another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "Python's venv module is missing (Debian: apt-get install python3-venv)." >&2; exit 1; }
	@echo "Setting up $(VENV), once; this takes half a minute."
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --no-compile --require-hashes -r constraints-uv.txt
	$(call install,constraints-run.txt)
	$(RUN) -m uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# What a developer needs besides, the laboratory among it.
$(STAMP): $(READY) constraints.txt lab/pyproject.toml
	$(call install,constraints.txt)
	$(RUN) -m uv pip install --quiet --no-deps --no-build-isolation -e lab
	@touch $@

java:
	@command -v java >/dev/null || \
		{ echo "Java 17 is missing (Debian: apt-get install default-jre-headless)." >&2; exit 1; }
	@command -v mvn >/dev/null || \
		{ echo "Maven is missing (Debian: apt-get install maven)." >&2; exit 1; }

# Unpacked, not installed: no service starts, and no root is needed.
var/prometheus/usr/bin/promtool:
	@command -v apt-get >/dev/null || { echo "Not a Debian system: put promtool and prometheus" \
		"on the PATH by other means." >&2; exit 1; }
	mkdir -p var/prometheus
	cd var/prometheus && apt-get download prometheus && dpkg -x prometheus_*.deb . && rm -f *.deb
	test -x $@
