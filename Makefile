# The two commands of the README: make demo, make test. Everything is set up on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# what is installed: what a user needs, or that and what the tests need
USER := $(VENV)/.installed-user
DEV := $(VENV)/.installed
# tests that need no kernel of the engine: they run while it compiles
EARLY := $(wildcard $(addprefix tests/unit/test_, gait_generators.py import_*.py kinetostatics_*.py \
  link.py messages.py path_following.py planner.py plots.py protocol.py scenario.py terrain*.py \
  traction_*.py uncertain.py verdict.py desk_*.py gate.py) $(addprefix tests/verification/test_, \
  kinetostatics_*.py traction_*.py) $(addprefix tests/end_to_end/test_, cli_kinetostatics.py \
  cli_ground.py cli_mobility.py desk_pages.py ground_browser.py site.py stance_browser.py))
# workers of the tests: one more than the two cores there are at least, since tests that wait for
# pages, links and processes leave their core to others
WORKERS ?= 3
# libraries that programs find; ldconfig is not on every user's path
LIBRARIES := PATH="$$PATH:/usr/sbin:/sbin" ldconfig -p

.PHONY: demo test lint soak fuzz bench docs wheel clean browser graphics map-kernels early

demo: $(USER)             ## a rover on hard ground, then one on sand: checks, and a report to open
	$(BIN)/marsyard run rt0448/test-1
	$(BIN)/marsyard run curiosity/ripple --open
	@echo "watch it in 3D: $(BIN)/marsyard view runs/curiosity-ripple"

# the engine's kernels compile on one core while the rest is got ready on the other; tests that need
# them begin as soon as they are there
test: $(DEV)              ## all tests (lint, types, unit, verification, validation, browser)
	@$(BIN)/python -c "from marsyard.simulation import compile_kernels; compile_kernels()" & engine=$$!; \
	  $(MAKE) --no-print-directory -j2 --output-sync lint early & rest=$$!; \
	  wait $$engine && $(BIN)/python -m pytest -m "not soak" -n $(WORKERS) --dist loadfile \
	    --no-loadscope-reorder $(addprefix --ignore=,$(EARLY)); tests=$$?; \
	  wait $$rest && exit $$tests

map-kernels: $(DEV)
	@$(BIN)/python -c "from marsyard.analysis.traction_map import compile_map_kernels; compile_map_kernels()"

early: $(DEV) map-kernels browser graphics
	$(BIN)/python -m pytest -q -m "not soak" $(EARLY)

lint: $(DEV)              ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check marsyard tests benchmarks examples docs release
	$(BIN)/mypy

soak: $(DEV)              ## long runs and studies
	$(BIN)/python -m pytest -m soak

# a failure prints the command that repeats it
COUNT ?= 1000
SEED ?= $(shell date +%s)
fuzz: $(DEV)              ## damaged files and random worlds: make fuzz COUNT=5000 SEED=7
	$(BIN)/python tests/fuzz/fuzz_files.py --count $(COUNT) --seed $(SEED); files=$$?; \
	  $(BIN)/python tests/fuzz/fuzz_worlds.py --count $(COUNT) --seed $(SEED) && exit $$files

bench: $(DEV)             ## benchmarks: ratios measured in one run
	$(BIN)/marsyard bench

docs: $(DEV)              ## the documentation site, in build/site
	$(BIN)/python -m sphinx -q -n -W --keep-going -c docs -d build/site-cache . build/site
	$(BIN)/python docs/check_site.py build/site
	@echo "open build/site/index.html"

wheel: $(DEV)             ## a wheel with the kernels compiled inside, in dist
	$(BIN)/python release/make_wheel.py

# bytecode is written here, on all cores, since whoever runs it later may not be allowed to
define install
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check \
	  -c constraints.txt -e "$(1)"
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib marsyard || true
endef

$(USER): pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

$(DEV): pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(USER) $@

# the browser tests use Debian's chromium, and Playwright's driver needs libatomic; without them and
# without the right to install them they skip or fail
browser:
	@{ command -v chromium && $(LIBRARIES) | grep libatomic.so.1; } >/dev/null 2>&1 \
	  || { apt-get update -qq && apt-get install -y -qq chromium libatomic1; } >/dev/null 2>&1 \
	  || echo "chromium and libatomic1 could not be installed: browser tests skip or fail"

# movies are drawn by EGL with Mesa's software; without it their tests fail and say what to install
graphics: browser
	@$(LIBRARIES) 2>/dev/null | grep -q libEGL_mesa \
	  || { apt-get update -qq && apt-get install -y -qq libegl1 libgl1-mesa-dri; } >/dev/null 2>&1 \
	  || echo "libegl1 and libgl1-mesa-dri could not be installed: movies may not be drawn"

clean:
	rm -rf $(VENV) runs build dist *.egg-info
