# Every target makes ready what it needs; the work itself is in scripts/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build test check demo emulate-pubnub emulate-cometchat bench fuzz test-sanitized format clean

FERRY := .build/release/ferry
ready = . scripts/lib.sh && PATH=$$(swift_path) && export PATH

help: ## these lines
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do \
	  printf '  make %-17s %s\n' "$$name" "$$text"; done

setup: ## install what building and testing need (apt-get packages, Python tools in .venv)
	@scripts/setup

build: ## build the release binary .build/release/ferry
	@scripts/setup build
	@$(ready) && swift build -c release --static-swift-stdlib --product ferry

test: ## build, then run every test: Swift units, fuzzing, end to end, Python client
	@scripts/setup
	@$(ready) && .venv/bin/python scripts/test

test-sanitized: ## unit and end-to-end tests under the address and the thread sanitizer
	@scripts/setup
	@$(ready) && .venv/bin/python scripts/test-sanitized $(if $(SHORT),--short)

fuzz: ## feed mutated input to the readers of lines and configurations, ten minutes each
	@scripts/setup
	@$(ready) && .venv/bin/python scripts/fuzz

check: ## format, imports, linkage, docs, generated files, Python lint; one line each
	@scripts/setup
	@$(ready) && .venv/bin/python scripts/check

demo: build ## see it work: share a file between two processes on this machine
	@$(ready) && "$$(find_python)" scripts/demo.py

emulate-pubnub: ## a PubNub of this machine alone on port 8080, to try ferry without keys
	@. scripts/lib.sh && python=$$(find_python) || fail "no python3 found, 3.9 or newer" && \
	  exec "$$python" Tests/Emulators/pubnub $(ARGS)

emulate-cometchat: ## a CometChat of this machine alone on port 8080, to try ferry without keys
	@. scripts/lib.sh && python=$$(find_python) || fail "no python3 found, 3.9 or newer" && \
	  exec "$$python" Tests/Emulators/cometchat $(ARGS)

bench: build ## measure beside plain tools and rewrite docs/benchmarks.md; FORCE=1 on a busy machine
	@$(ready) && "$$(find_python)" Benchmarks/run $(if $(FORCE),--force)

format: ## rewrite Swift in the house style, and sort the imports of Python
	@scripts/setup
	@$(ready) && .venv/bin/python scripts/check --format

clean: ## remove what was built (.build) and the Python tools (.venv)
	rm -rf .build .venv
