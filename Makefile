# Every target works from a fresh clone; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The newest tag and what came after it. Without tags: the newest release of the CHANGELOG, and the commit where there is one.
CHANGES := $(shell sed -n 's/^## \[\([0-9][^]]*\)\].*/v\1/p' CHANGELOG.md | sed 1q)
VERSION ?= $(or $(shell git describe --tags --dirty --match 'v[0-9]*' 2>/dev/null),$(or $(CHANGES),dev)$(addprefix +,$(shell git describe --always --dirty 2>/dev/null)))

# Packages tested at once, each with a PostgreSQL of its own; tests of a package at once: more than processors, as many wait for a lease or a sweep.
TEST_JOBS  ?= 2
TEST_PARALLEL ?= 6
# Per package.
TEST_TIMEOUT ?= 20m
# What test and test-system run, what takes longest first: the packages that the command is made of; the command, and the whole from outside.
PARTS      := ./store/... ./scheduler/... ./migrations/... ./notifier/... ./events/...
SYSTEM     := ./integration/... ./cmd/...
RACE_COUNT ?= 20
# soak: which part of the full counts; which tests: on, off (the model's, with fused transitions and without), rest, chaos.
SOAK       ?= 1
SOAK_PARTS ?= on off rest chaos
SOAK_LOG   ?= bin/soak.log
FUZZTIME   ?= 30s
# full: the full sizes; BENCH_ONLY: one section or several, separated by commas.
BENCH      ?=
BENCH_ONLY ?=
# week: how many simulated days, and how long one takes; 24m is 60 times the speed.
WEEK_DAYS  ?= 7
WEEK_DAY   ?= 24m
# chaos: for how many seconds schedules are begun, and from which seed; SEED alone: that schedule. mutants: which, and for how long each.
MUTANTS    ?=
# test-clients: tests of integration/clients, without their Test; none: all. test-coming-from: the same of integration/comingfrom.
CLIENTS    ?=
PEERS      ?=
# test-ha: one scenario, as go test -run takes it; none: all.
HA         ?=
# Without go vet, which is part of lint, and without what only debuggers read.
GOTEST     := CGO_ENABLED=1 go test -race -shuffle=on -vet=off -ldflags=-w

.PHONY: help build run test test-system test-unbatched test-two-steps test-node test-browser test-clients test-coming-from test-ha test-mysql test-failover-slot test-pg-upgrade test-matrix chaos mutants simulate soak race lint fuzz bench bench-peers bench-tools week schema-dump release test-release test-release-native ci

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## a static binary in bin/rowrun
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/rowrun ./cmd/rowrun

run: ## a private PostgreSQL, rowrun and a sample plan; Ctrl-C ends it
	@.ci/ensure postgres
	@$(MAKE) build
	@exec bin/rowrun dev --sample

test: ## the tests of the packages that the command is made of, with the race detector, on a real PostgreSQL
	@.ci/ensure postgres mariadb cc
	$(GOTEST) -p $(TEST_JOBS) -parallel $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) $(PARTS)

test-system: ## the tests of the command, and those that see the whole from outside, with the race detector
	@.ci/ensure postgres mariadb cc promtool workers
	$(GOTEST) -p $(TEST_JOBS) -parallel $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) $(SYSTEM)

test-unbatched: ## the tests of scheduler and integration with each run claimed and ended by itself
	@.ci/ensure postgres cc workers
	ROWRUN_MAX_BATCH=1 $(GOTEST) -p 1 -timeout 20m ./scheduler/... ./integration

test-two-steps: ## the tests of scheduler and integration with no run promoted and claimed at once
	@.ci/ensure postgres cc workers
	ROWRUN_TWO_STEPS=true $(GOTEST) -p 1 -timeout 20m ./scheduler/... ./integration

test-node: ## the example worker of Node.js; wants Node.js 20 or later with npm
	@.ci/ensure postgres node
	@cd deploy/workers && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci; }
	go test -tags node -run TestExampleWorkerOfNode ./integration

test-browser: ## the dashboard's pages in a real browser, on a made-up API and on what make run starts; ROWRUN_PICTURES=DIR keeps a picture of each
	@.ci/ensure postgres chromium
	cd cmd/rowrun/internal/ui/browser && go test -count=1 -timeout 20m .

test-clients: ## the programs of docs/app.md, each with its library (wants Node.js and a JDK); CLIENTS='Pgx|GORM' for some
	@.ci/ensure postgres $(if $(filter Pgx|GORM,$(CLIENTS)),,node python java)
	cd integration/clients && go test -count=1 -timeout 20m -run '^Test($(or $(CLIENTS),.*))$$' .

test-coming-from: ## the scripts of deploy/coming-from on the schemas of other queues (two of them want Node.js); PEERS='River|DBScheduler' for some
	@.ci/ensure postgres $(if $(filter River|DBScheduler,$(PEERS)),,node)
	@cd integration/comingfrom && { [ '$(PEERS)' = 'River|DBScheduler' ] || [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts; }
	cd integration/comingfrom && go test -count=1 -timeout 10m -run '^Test($(or $(PEERS),.*))$$' .

test-ha: ## failovers of Patroni under load, in network namespaces (wants root, Linux); HA='TestFailover/synchronous_killed' for one
	@.ci/ensure postgres patroni
	go test -tags ha -count=1 -timeout 20m -v $(if $(HA),-run '$(HA)') ./integration/ha

test-pg-upgrade: ## a deployment whose server pg_upgrade makes anew (wants PostgreSQL's server package, with pg_upgrade)
	@.ci/ensure postgres
	go test -tags pgupgrade -count=1 -timeout 10m -run TestDeploymentGoesOnAfterPgUpgrade ./integration

test-mysql: ## tests of targets on MySQL, apart from MariaDB: of Debian unstable, or MYSQLD=path of its program
	@.ci/ensure cc
	ROWRUN_MYSQLD=$${MYSQLD:-$$(.ci/fetch-mysql)} && export ROWRUN_MYSQLD && $(GOTEST) -count=1 -timeout 10m ./scheduler/dbexec

test-failover-slot: ## the stream goes on behind a failover slot, on PostgreSQL 17 (fetched with npm where it isn't installed)
	ROWRUN_PG_BIN=$$(.ci/fetch-postgres 17) && export ROWRUN_PG_BIN && \
		go test -tags failoverslot -count=1 -timeout 10m -run TestAFailoverSlotKeepsTheStream ./integration

test-matrix: ## all tests on PostgreSQL 15, 16, 17 and 18
	@.ci/matrix

chaos: ## schedules of faults drawn from seeds against real replicas: SECONDS=60 or COUNT=57; SEED=n repeats that schedule; FAULTS=regexp: of these kinds
	@.ci/ensure postgres cc
	$(if $(FAULTS),ROWRUN_CHAOS_FAULTS='$(FAULTS)') $(if $(SEED),ROWRUN_SEED=$(SEED)) $(if $(SECONDS),ROWRUN_CHAOS_SECONDS=$(SECONDS),$(if $(COUNT)$(SEED),ROWRUN_CHAOS_COUNT=$(or $(COUNT),1))) \
		go test -count=1 -v -parallel 3 -timeout 3h -run '^TestChaos$$' ./integration/chaos

mutants: ## guards taken out one at a time, each to be found by the chaos rig: SECONDS=60 for each, SEED=1, MUTANTS=regexp
	@.ci/ensure postgres cc
	go run ./integration/chaos/mutants -seconds $(or $(SECONDS),60) -seed $(or $(SEED),1) -only '$(MUTANTS)'

simulate: ## replicas on a simulated database, in simulated time: COUNT=1000000 schedules from SEED=n on; COUNT=1 LOG=1 tells one
	$(if $(SEED),ROWRUN_SEED=$(SEED)) $(if $(LOG),ROWRUN_SIMULATION_LOG=1) ROWRUN_SIMULATION_COUNT=$(or $(COUNT),1000000) \
		go test -count=1 -v -timeout 0 -run '^TestSimulation$$' ./cmd/rowrun/internal/simulation

soak: ## the same tests with full counts, the model's with fused transitions and without; SOAK=0.05 for a part, SOAK_PARTS='on off'
	@.ci/ensure postgres mariadb cc promtool workers
	@ROWRUN_SOAK=$(SOAK) .ci/soak $(SOAK_LOG) $(SOAK_PARTS)

race: ## scheduler and store again and again, in random order
	@.ci/ensure postgres mariadb cc
	$(GOTEST) -p 1 -timeout 1h -count=$(RACE_COUNT) ./scheduler/... ./store/...

lint: ## golangci-lint, in the version that .ci/tools.mod pins
	go tool -modfile=.ci/tools.mod golangci-lint run --timeout 10m ./...
	cd integration/clients && go tool -modfile=../../.ci/tools.mod golangci-lint run --timeout 10m ./...
	cd integration/comingfrom && go tool -modfile=../../.ci/tools.mod golangci-lint run --timeout 10m ./...
	cd cmd/rowrun/internal/ui/browser && go tool -modfile=../../../../../.ci/tools.mod golangci-lint run --timeout 10m ./...
	cd cmd/rowrun/release && go tool -modfile=../../../.ci/tools.mod golangci-lint run --timeout 10m ./...

fuzz: ## each fuzz target for FUZZTIME
	@.ci/ensure postgres
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

bench: bench-tools ## the figures of docs/benchmarks.md; BENCH=full, BENCH_ONLY=latency|successor|drain|blocked|others|limits|stream|idle|schedules|workers|replicas|cores|scale|large|plans
	@bin/bench -rowrun bin/rowrun -peers bin/peers -only '$(BENCH_ONLY)' $(if $(filter full,$(BENCH)),-full)

bench-peers: bench-tools ## beside River and graphile-worker (wants Node.js); BENCH=full, BENCH_ONLY=drain|gates|single|arrival|burst|flood|due|serial|kept|footprint
	@.ci/ensure node
	@cd integration/peers/graphile && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci; }
	@bin/bench -suite peers -rowrun bin/rowrun -peers bin/peers -graphile $(CURDIR)/integration/peers/graphile \
		-only '$(BENCH_ONLY)' $(if $(filter full,$(BENCH)),-full)

week: ## seven simulated days at 60 times the speed, 3 h; fails where something grows. WEEK_DAY=1m: 7 minutes; WEEK_DAYS=2
	@.ci/ensure postgres
	@$(MAKE) build
	go build -buildvcs=false -o bin/bench ./integration/bench
	@bin/bench -rowrun bin/rowrun -suite week -days $(WEEK_DAYS) -day $(WEEK_DAY)

bench-tools:
	@.ci/ensure postgres
	@$(MAKE) build
	go build -buildvcs=false -o bin/bench ./integration/bench
	cd integration/peers && go build -buildvcs=false -o ../../bin/peers .

release: ## what is installed: VERSION=v0.1.0; archives, .deb, .rpm, images, SBOMs and checksums in dist/, without Docker
	@[ '$(origin VERSION)' != file ] || { echo 'release: give VERSION, such as make release VERSION=v0.1.0' >&2; exit 2; }
	@cd cmd/rowrun/release && go run . -source ../../.. -out ../../../dist -version '$(VERSION)'

test-release: ## a release of all systems, made twice, installed and run; wants root, for roots of their own
	@.ci/ensure postgres systemd
	cd cmd/rowrun/release && ROWRUN_RELEASE_TARGETS=all go test -count=1 -timeout 30m ./...

test-release-native: ## the same for this machine's system alone, in about a minute
	@.ci/ensure postgres systemd
	cd cmd/rowrun/release && go test -count=1 -timeout 10m ./...

ci: ## what has to be green: test, test-system, lint and more
	@bash .ci/run

schema-dump: ## what migrations/testdata keeps of a release: TAG=v0.1.0 DATABASE_URL=… of an empty database; wants psql and pg_dump
	@[ -n '$(TAG)' ] && [ -n '$(DATABASE_URL)' ] || { echo 'schema-dump: give TAG and DATABASE_URL' >&2; exit 2; }
	@$(MAKE) build
	bin/rowrun migrate up --database-url '$(DATABASE_URL)'
	psql -X -q -v ON_ERROR_STOP=1 -d '$(DATABASE_URL)' -o /dev/null -f migrations/testdata/rows.sql
	pg_dump --no-owner --inserts --dbname '$(DATABASE_URL)' | grep -v '^\\' > migrations/testdata/schema-$(TAG).sql
