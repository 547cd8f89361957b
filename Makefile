# make        builds bin/foyer
# make run    builds and starts it
# make drill  runs the program under load while what it stands on fails; DRILL=long for longer, DRILL=hour for an hour of webhooks
# make test   installs what is missing and runs every test, as CI does

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BINARY   := bin/foyer
FUZZTIME ?= 5000x
TARGETS  := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SCREENS  ?= $(CURDIR)/dist/screens
TOOL     := go tool -modfile=tools/go.mod

# One way to compile for all but the race detector: what one compiles the next one finds.
export CGO_ENABLED := 0
export GOFLAGS     := $(GOFLAGS) -trimpath
# Without a second's sleep at the end of each program, and without checks of how SQLite points into its own memory.
RACE     := CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -race -gcflags=modernc.org/...=-d=checkptr=0 -parallel 4 -timeout 20m

.PHONY: build release run test setup lint fmt unit rehearse budget drill fuzz bench bench-growth bench-peers pictures screens cover measure vuln

build:
	go build -ldflags '-s -w -X foyer/internal/cli.version=$(VERSION)' -o $(BINARY) ./cmd/foyer

release: # archives of all systems in dist; TARGETS names others
	scripts/release dist $(TARGETS)

run: build
	bin/foyer serve

test: setup build lint # unit and rehearse wait a lot, for different things: side by side they take two thirds
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

unit: # on both engines, the end-to-end scripts among them; the API's thousands of requests take too long with the race detector
	$(RACE) $$(go list ./... | grep -v -e /domain/ -e /server -e /face/api$$ -e /test/)
	go test -parallel 4 -timeout 20m ./internal/face/api ./test/...

rehearse: # each transaction on SQLite is undone once and run again: batches do that to those beside one that fails
	$(RACE) -tags rehearse ./internal/domain/... ./internal/server

drill: # what the program stands on is killed, cut, locked and copied; wrong programs, which it must find
	go test -tags drill -count 1 -parallel 4 -timeout 2h ./test/drill

fuzz: # each target for FUZZTIME: a count, since at the end of a time Go 1.26 may call it failed (go.dev/issue/75804)
	nice scripts/fuzz $(FUZZTIME)

budget: # allocations alone; unit looks at them too
	go test -run '^TestBudget$$' ./internal/face/api

measure: # what takes too long, or needs too much, for each run of the tests; Firefox is firefox-esr, WebKit webkit2gtk-driver under xvfb
	FOYER_ALL_BROWSERS=1 go test -run '^TestInBrowsers$$' -count=1 -v ./internal/domain/site/loader
	go test -count 1 -run '^TestVerifyNamesTheFirst$$' ./internal/domain/activity -alterations 1000
	go test -count 1 -run '^TestFindTimes$$' -v ./internal/domain/plugin -million
	go test -count 1 -run '^TestFollowThousandSites$$' -v ./internal/domain/site -timed
	go test -count 1 -run '^TestManifestCost$$' -v ./test/e2e -costs
	go test -count 1 -run '^TestRelease$$' -timeout 1h ./test/e2e -targets '$(TARGETS)'
	go test -count 1 -run '^TestStreamOfManyEntries$$' -v -timeout 1h ./internal/face/api -streamed 1000000
	go test -count 1 -run '^TestSignInTakesTheSameTime$$' -v ./internal/face/api -requested 1000
	go test -count 1 -run '^TestLists$$' -v -parallel 1 -timeout 1h ./internal/server -lists
	go test -count 1 -run '^TestGeneratedRequests$$' -v -timeout 1h ./internal/face/api -generated 100000
	DRILL=long go test -tags drill -count 1 -run '^(TestWebhooks|TestTwins|TestKilledBeforeTheAnswer)$$' -v -timeout 2h ./test/drill

bench:
	go test -run '^$$' -bench . -benchmem ./...

bench-growth: # a large organization beside a small one; takes minutes and 5 GB
	go test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 20000x -timeout 30m ./internal/face/api -growth

bench-peers: build # foyer beside others, into docs/performance.md
	scripts/bench-peers

pictures: # those of the console in docs/pictures, of seeded data
	mkdir -p docs/pictures
	go test -count 1 -run '^TestPictures$$' ./test/e2e -args -pictures $(CURDIR)/docs/pictures

screens: # each page of the console at both sizes, light and dark, into SCREENS
	mkdir -p $(SCREENS)
	go test -count 1 -run '^TestFlows$$/^with_script$$' ./test/e2e -args -screenshots $(SCREENS)

cover:
	go test -coverpkg ./... -coverprofile coverage.out ./...
	go tool cover -func coverage.out | tail -n 1

vuln: # asks the internet
	$(TOOL) govulncheck ./...
