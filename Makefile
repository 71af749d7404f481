# `make help` lists what there is. Needs Python 3.11, a Rust toolchain, a C compiler and make; the rest is set up in
# `.venv/` and `target/` here. Another Python: `make PYTHON=python3.12 test`.

PYTHON ?= python3
CARGO ?= cargo
VENV := .venv
BIN := $(VENV)/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

# What the extension module is built from. Tests and `testkit` are not in it.
BUILT_FROM := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates -path crates/testkit -prune -o \( -path '*/src/*.rs' -o -name build.rs -o -name Cargo.toml \) -print)
PACKAGE := $(shell find python/tcpsf python/tcpsf.data -type f ! -name '*.so' ! -name '*.pyc' 2>/dev/null)

# One virtual environment holds the package as a user installs it, editable with the tools for work on it, or from the wheel
# that is published, which `bench` measures. Each installation replaces the others, so each takes their stamps away; what
# is there serves `demo`.
PLAIN := $(VENV)/.installed
DEV := $(VENV)/.installed-for-development
WHEEL := $(VENV)/.installed-from-wheel
ANY := $(or $(wildcard $(DEV) $(WHEEL)),$(PLAIN))

# Which Python PyO3 looks at when clippy checks the binding: the one that the virtual environment is made from.
lint-clippy: export PYO3_PYTHON ?= $(shell command -v $(PYTHON) 2>/dev/null)

.PHONY: help demo test test-rust build-tests test-python test-live test-browser test-wireshark compare lint lint-fmt \
	lint-clippy lint-ruff lint-mypy lint-imports fmt docs docs-quick site dist release-check install dev web wheel verify \
	verify-programs verify-random bench clean tools
.DEFAULT_GOAL := help
# cargo and pytest use all cores by themselves, and two installations at once would break the environment.
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(ANY) ## simulate the paper's web traffic with three senders, and show its Table I beside the published one
	@$(BIN)/tcpsf demo --out out/demo

test: test-rust test-python test-live ## every test (what takes longer is in `verify`)

test-rust: tools
	@echo "== Rust tests"
	@$(CARGO) test --locked --workspace --exclude py -- --quiet

build-tests: tools
	@$(CARGO) test --locked --workspace --exclude py --no-run --quiet

test-python: $(DEV)
	@echo "== Python tests"
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m 'not browser and not live'

test-live: $(DEV)
	@echo "== Python tests with the kernel, over live links"
	@$(BIN)/python -m pytest -m 'live and not browser'

# Where there is no toolchain for WebAssembly, `make web` says so, and the tests of the playground are skipped.
test-browser: $(DEV) ## report pages and charts in Chromium; where it can be built, the playground, whose module has the rows of the native simulator
	@echo "== pages in Chromium"
	@.ci/debian chromium:chromium tshark:tshark
	@$(MAKE) --no-print-directory web
	@$(BIN)/python -m pytest -m browser

test-wireshark: $(DEV) ## captures of simulated runs, read by Wireshark's tshark
	@echo "== captures in tshark"
	@.ci/debian tshark:tshark
	@$(BIN)/python verification/wireshark.py

lint: lint-fmt lint-clippy lint-ruff lint-mypy lint-imports ## formatting, lints, types and layers

lint-fmt: tools
	@$(CARGO) fmt --all --check
	@$(CARGO) fmt --check --manifest-path benches/peers/Cargo.toml
	@$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml

lint-clippy: tools
	@$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

lint-ruff: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

lint-mypy: $(DEV)
	@$(BIN)/mypy --strict

lint-imports: $(DEV)
	@$(BIN)/lint-imports --no-logo --no-cache

fmt: $(DEV) ## format everything
	@$(CARGO) fmt --all
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

docs: docs-quick ## write the classes of a scenario, the pages and figures under docs/, and the man pages, again
	@$(BIN)/python -m tcpsf.pages.coverage > out/coverage.md
	@mv out/coverage.md docs/reference/coverage.md

# Without the page on the coverage of the papers, which computes all exhibits: that takes minutes, the others seconds.
docs-quick: $(DEV)
	@mkdir -p out
	@$(BIN)/python -m tcpsf.pages.scenario_model > out/model.py
	@$(BIN)/ruff format --quiet out/model.py
	@mv out/model.py python/tcpsf/scenario/model.py
	@$(BIN)/python -m tcpsf.pages.scenario_reference > out/scenario.md
	@mv out/scenario.md docs/reference/scenario.md
	@$(BIN)/python -m tcpsf.pages.python_reference > out/python.md
	@mv out/python.md docs/reference/python.md
	@$(BIN)/python -m tcpsf.pages.command_reference > out/commands.md
	@mv out/commands.md docs/reference/commands.md
	@$(BIN)/python -m tcpsf.pages.man python/tcpsf.data/data/share
	@$(BIN)/python -m tcpsf.pages.lessons docs/lessons/img
	@$(CARGO) run --locked --quiet --package web --example types > out/tcpsf.d.ts
	@mv out/tcpsf.d.ts crates/web/page/tcpsf.d.ts
	@$(BIN)/python -m tcpsf.report.ladder docs/concepts/img
	@$(BIN)/python -m tcpsf.pages.plate docs/concepts/img

web: $(DEV) ## the playground, one HTML page with the simulator as WebAssembly, in out/web/ and in the package
	@module=$$(.ci/web); status=$$?; if [ $$status = 3 ]; then exit 0; elif [ $$status != 0 ]; then exit 1; fi; \
		$(BIN)/python -m tcpsf.pages.playground $$module out/web/index.html && \
		cp out/web/index.html python/tcpsf/explore/playground.html && \
		echo "out/web/index.html: $$(gzip -9c out/web/index.html | wc -c) bytes in gzip"

install: $(PLAIN) ## the package and its command, in .venv/

dev: $(DEV) ## the same, editable, with the tools for tests and lints

verify: $(DEV) ## compare with theory, papers, ns-2, Wireshark, the kernel and hostile peers, each with a verdict (long; continues when interrupted; not in CI)
	@.ci/debian ns:ns2 tshark:tshark curl:curl wget:wget ab:apache2-utils wrk:wrk nginx:nginx-light apache2:apache2-bin haproxy:haproxy redis-server:redis-server openssl:openssl chromium:chromium
	@$(MAKE) --no-print-directory --keep-going verify-programs $(if $(ONLY),,verify-random)

verify-programs: $(DEV)
	@.ci/each verification $(BIN)/python out/verify $(ONLY)

# 100 000 cases take some ten minutes on two cores; CASES=1000000 takes a night. Not in release: the assertions that it leaves out are half of what these cases are for.
CASES ?= 100000
verify-random: tools
	@echo "== random cases, $(CASES) a property"
	@PROPTEST_CASES=$(CASES) $(CARGO) test --locked --workspace --exclude py --exclude sim -- --quiet

wheel: $(WHEEL) ## the package that is published, with profile-guided optimisation, in out/wheels/ and .venv/

bench: $(WHEEL) ## speed beside peers' in the same run, and how it scales
	@.ci/debian ns:ns2 g++:g++ /usr/include/ns3/core-module.h:libns3-dev tcptrace:tcptrace tshark:tshark iptables:iptables dnsmasq:dnsmasq-base go:golang-go
	@.ci/each benches $(BIN)/python

# The other build gets a worktree and an environment of its own under out/compare/, which the next comparison uses again.
BASE ?= main
compare: $(DEV) ## check that the results are those of another revision: make compare BASE=REVISION
	@revision=$$(git rev-parse --short --verify '$(BASE)^{commit}') && there=$$PWD/out/compare/$$revision && \
		{ [ -d "$$there" ] || git worktree add --quiet --detach "$$there" "$$revision"; } && \
		$(MAKE) --no-print-directory -C "$$there" dev && \
		$(BIN)/python tools/compare_builds.py "$$there/$(BIN)/python" $(BIN)/python $(COMPARE)

site: $(DEV) web ## the documentation site, with API reference, reports and playground, in out/site/ (REPORTS=FOLDER of `reproduce all`)
	@$(BIN)/python tools/site.py requirements | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	@$(BIN)/python tools/site.py build out/site $(if $(REPORTS),--reports '$(REPORTS)')

dist: site ## what is published, in out/dist/: wheels, source, site, SBOM, checksums
	@$(BIN)/python tools/dist.py out/dist

release-check: ## the checklist of a release, about out/dist/ (as root; needs mmdebstrap, mandoc and package registries)
	@.ci/debian mmdebstrap:mmdebstrap mandoc:mandoc qemu-aarch64-static:qemu-user-static
	@$(PYTHON) tools/release.py out/dist $(CHECK)

clean: ## remove everything that was built or written
	rm -rf $(VENV) target out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/tcpsf/*.so

tools:
	@command -v $(CARGO) >/dev/null || { \
		echo "error: no \`$(CARGO)\` on the PATH" >&2; \
		echo "hint: install a Rust toolchain, 1.95 or newer" >&2; exit 2; }
	@command -v cc >/dev/null || { \
		echo "error: no C compiler (\`cc\`) on the PATH" >&2; \
		echo "hint: on Debian, as root: apt-get install gcc libc6-dev" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "error: \`$(PYTHON)\` is not Python 3.11 or newer" >&2; \
		echo "hint: name another one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: \`$(PYTHON)\` cannot make virtual environments" >&2; \
		echo "hint: on Debian, as root: apt-get install python3-venv" >&2; exit 2; }

$(BIN)/python: | tools
	@echo "== making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(PLAIN): $(BUILT_FROM) $(PACKAGE) | $(BIN)/python
	@echo "== building and installing tcpsf (some minutes the first time)"
	@rm -f $(DEV) $(WHEEL)
	@$(BIN)/python -m pip install --quiet .
	@touch $@

$(DEV): $(BUILT_FROM) | $(BIN)/python
	@echo "== building and installing tcpsf for development (some minutes the first time)"
	@rm -f $(PLAIN) $(WHEEL)
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(WHEEL): $(BUILT_FROM) $(PACKAGE) crates/py/train.py .ci/wheel | $(BIN)/python
	@echo "== building the wheel (twice: the second time with what the first learnt)"
	@rm -f $(PLAIN) $(DEV)
	@.ci/wheel $(BIN)/python out/wheels
	@$(BIN)/python -m pip install --quiet --force-reinstall out/wheels/*.whl
	@touch $@
