# make        builds bin/foyer
# make run    builds and starts it
# make drill  runs the program under load while its dependencies fail; DRILL=long for longer, DRILL=hour for an hour of webhooks
# make test   installs what is missing and runs every test, as CI does

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BINARY   := bin/foyer
FUZZTIME ?= 5000x
TARGETS  := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SCREENS  ?= $(CURDIR)/dist/screens
TOOL     := go tool -modfile=tools/go.mod

# All builds but those for the race detector have the same settings, so that they share the build cache.
export CGO_ENABLED := 0
export GOFLAGS     := $(GOFLAGS) -trimpath
# Without the second's sleep at the end of each program, and not in SQLite, which is translated from C: its pointers into
# its own memory would be refused, and it would take most of the time.
RACE     := CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -race '-gcflags=modernc.org/...=-d=checkptr=0 -race=false' -parallel 4 -timeout 1h

.PHONY: build release run test setup lint fmt unit rehearse budget drill fuzz bench bench-growth bench-peers pictures screens cover measure vuln

build:
	go build -ldflags '-s -w -X foyer/internal/cli.version=$(VERSION)' -o $(BINARY) ./cmd/foyer

release: # archives for all systems in dist; TARGETS chooses others
	scripts/release dist $(TARGETS)

run: build
	bin/foyer serve

test: setup build lint # unit and rehearse often wait, for different things: in parallel they take two thirds of the time
	$(MAKE) -j 2 unit rehearse
	$(MAKE) -j 2 drill fuzz

setup: # PostgreSQL, PgBouncer, Prometheus, nginx, Chromium, Node.js, git, curl, jq
	scripts/setup

lint:
	go mod tidy -diff
	go vet -tags drill ./test/drill
	$(TOOL) golangci-lint run --build-tags drill
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes @redocly/cli@2.77.0 lint --format=stylish internal/face/api/openapi.yaml

fmt:
	$(TOOL) golangci-lint fmt

unit: # on both engines, including the end-to-end scripts; the API's thousands of requests take too long with the race detector
	$(RACE) $$(go list ./... | grep -v -e /domain/ -e /server -e /face/api$$ -e /test/)
	go test -parallel 4 -timeout 1h ./internal/face/api ./test/...

rehearse: # each transaction on SQLite is rolled back once and run again, as a batch does if another transaction in it fails
	$(RACE) -tags rehearse ./internal/infra/db ./internal/infra/queries ./internal/domain/... ./internal/server

drill: # kills, cuts, locks and copies the program's dependencies; also runs faulty programs, which the drill must detect
	go test -tags drill -count 1 -parallel 4 -timeout 2h ./test/drill

fuzz: # each target for FUZZTIME, a count: with a duration, Go 1.26 may report a failure at its end (go.dev/issue/75804)
	nice scripts/fuzz $(FUZZTIME)

budget: # statements and allocations only; unit checks them too
	go test -run '^TestBudget$$' ./internal/face/api

measure: # tests that take too long or need too much for each run; needs firefox-esr for Firefox, and webkit2gtk-driver and xvfb for WebKit
	FOYER_ALL_BROWSERS=1 go test -run '^TestInBrowsers$$' -count=1 -v ./internal/domain/site/loader
	go test -count 1 -run '^TestVerifyNamesTheFirst$$' ./internal/domain/activity -alterations 1000
	go test -count 1 -run '^(TestFindTimes|TestSearchesOfEqualLetters)$$' -v ./internal/domain/plugin -million
	go test -count 1 -run '^(TestFollowThousandSites|TestManyChoices|TestCleanTakesLinearTime)$$' -v ./internal/domain/site ./internal/domain/report -timed
	go test -count 1 -run '^TestManyAddresses$$' ./internal/face/console -timed
	go test -count 1 -run '^TestManifestCost$$' -v ./test/e2e -costs
	go test -count 1 -run '^TestRelease$$' -timeout 1h ./test/e2e -targets '$(TARGETS)'
	go test -count 1 -run '^TestStreamOfManyEntries$$' -v -timeout 1h ./internal/face/api -streamed 1000000
	go test -count 1 -run '^TestSignInTakesTheSameTime$$' -v ./internal/face/api -requested 1000
	go test -count 1 -run '^TestLists$$' -v -parallel 1 -timeout 1h ./internal/server -lists
	go test -count 1 -run '^TestGeneratedRequests$$' -v -timeout 1h ./internal/face/api -generated 100000
	DRILL=long go test -tags drill -count 1 -run '^(TestWebhooks|TestTwins|TestKilledBeforeTheAnswer)$$' -v -timeout 2h ./test/drill

bench:
	go test -run '^$$' -bench . -benchmem ./...

bench-growth: # compares a large organization with a small one; takes minutes and 5 GB
	go test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 20000x -timeout 30m ./internal/face/api -growth

bench-peers: build # compares foyer with other servers and writes docs/performance.md
	scripts/bench-peers

pictures: # the pictures of the console in docs/pictures, with seeded data
	mkdir -p docs/pictures
	go test -count 1 -run '^TestPictures$$' ./test/e2e -args -pictures $(CURDIR)/docs/pictures

screens: # screenshots of each page of the console at both sizes, light and dark, in SCREENS
	mkdir -p $(SCREENS)
	go test -count 1 -run '^TestFlows$$/^with_script$$' ./test/e2e -args -screenshots $(SCREENS)

cover:
	go test -coverpkg ./... -coverprofile coverage.out ./...
	go tool cover -func coverage.out | tail -n 1

vuln: # needs the internet
	$(TOOL) govulncheck ./...
