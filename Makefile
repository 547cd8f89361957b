# make        builds bin/foyer
# make run    builds and starts it
# make test   installs what is missing and runs every test, as CI does

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 10000x
TOOL     := go tool -modfile=tools/go.mod

.PHONY: build run test setup lint fmt unit budget fuzz bench bench-growth bench-peers cover vuln

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X foyer/internal/cli.version=$(VERSION)' -o bin/foyer ./cmd/foyer

run: build
	bin/foyer serve

test: setup build lint unit budget fuzz

setup: # PostgreSQL's server programs, Chromium, git, curl, jq
	scripts/setup

lint:
	go mod tidy -diff
	go vet ./...
	$(TOOL) golangci-lint run

fmt:
	$(TOOL) golangci-lint fmt

unit: # on both engines, the end-to-end scripts among them
	CGO_ENABLED=1 go test -race ./...

fuzz: # each target for FUZZTIME: a count, since at the end of a time Go 1.26 may call it failed (go.dev/issue/75804)
	scripts/fuzz $(FUZZTIME)

budget: # allocations, which the race detector would add to
	go test -run '^TestBudget$$' ./internal/api

bench:
	go test -run '^$$' -bench . -benchmem ./...

bench-growth: # a large organization beside a small one; takes minutes and 5 GB
	go test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 20000x -timeout 30m ./internal/api -growth

bench-peers: build # foyer beside others, into docs/performance.md
	scripts/bench-peers

cover:
	go test -coverpkg ./... -coverprofile coverage.out ./...
	go tool cover -func coverage.out | tail -n 1

vuln: # asks the internet
	$(TOOL) govulncheck ./...
