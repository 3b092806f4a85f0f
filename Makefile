PYTHON ?= python3
BIN := .venv/bin
# Of $(PYTHON), as 3.13.0; the fast part of the tests has an environment for each.
VERSION := $(shell $(PYTHON) -c 'import platform; print(platform.python_version())')
OTHER := .venv-$(VERSION)
UV_VERSION := $(shell sed -n 's/^uv==\([0-9.]*\).*/\1/p' requirements-dev.lock)

# Modules are compiled once, and not by each of a thousand short processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-python check docs linkcheck screenshots replication dist bench bench-full faults load fuzz defences work-per-byte sbom audit-dependencies lock clean

demo: .venv/.ready
	$(BIN)/fairwise demo

# Three at a time on two cores, as many wait for browsers, databases and each other; each with one thread for its sums.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist worksteal

# All that needs no browser, no nginx and no minutes.
test: .venv/.ready
	$(PYTEST) -m "not slow"
	@echo "Not run: browser, nginx, tutorials, faults, fuzz, packaging, examples and docs. To run them too: make test-all"

# The rest, and the properties once more with all of their examples. Without chromium or nginx some are skipped, and named.
test-all: .venv/.ready
	$(PYTEST) -m "slow or hypothesis"

# The fast part, most of the mathematics and a look at the rest, on another Python: make test-python PYTHON=python3.13
FAST := auditing constraints datasets judgments learning properties reporting simulation tables test_equal_nan.py \
    cli/test_bots.py cli/test_check.py cli/test_fit.py cli/test_options.py cli/test_plan.py \
    bots/test_participant.py archive/test_bundle.py study/test_settings.py web/participant/test_pairs.py \
    security/test_crafted_models.py
SLOWER := auditing/test_frontier.py auditing/test_in_blocks.py learning/large/test_problem.py \
    learning/test_lazy_imports.py learning/solvers/test_regression_kernels.py learning/test_scikit_learn.py \
    auditing/test_arms.py auditing/test_budgets_of_parts.py auditing/test_new_people.py learning/test_label_values.py \
    learning/test_unused_input.py properties/test_exceeded_limits.py properties/test_least_excess.py tables/test_bombs.py
test-python: $(OTHER)/.ready
	OPENBLAS_NUM_THREADS=1 FAIRWISE_PROBLEMS=60 $(OTHER)/bin/pytest -n 3 --dist worksteal -m "not slow" \
	    $(addprefix tests/,$(FAST)) $(addprefix --ignore=tests/,$(SLOWER))

check: .venv/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py

# The site, without the network: docs/_build/html/index.html. A warning is an error.
docs: .venv/.ready
	$(BIN)/sphinx-build -W --keep-going --jobs auto -b html docs docs/_build/html

# Also asks whether the pages of others that ours point to are still there; needs the network.
linkcheck: .venv/.ready
	$(BIN)/sphinx-build --define plot_gallery=0 -b linkcheck docs docs/_build/linkcheck

# The pictures of the README and of the tutorial for operators, taken in a browser.
screenshots: .venv/.ready
	$(BIN)/python scripts/screenshots.py

# Section 5 of the paper, done again: writes docs/replication.md, its figures and its tables.
replication: .venv/.ready
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m replication --markdown docs/replication.md

# A wheel and an sdist, in dist/.
dist: .venv/.ready
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python

# The shorter rows, about ten minutes on two idle cores: prints, checks the guard, writes nothing.
bench: .venv/.ready
	$(BIN)/python -m benchmarks

# Everything: writes docs/benchmarks.md and its figures, and records the ratios for the guard.
bench-full: .venv/.ready
	$(BIN)/python -m benchmarks --full

# A study is answered while everything breaks that can; writes its part of docs/faults.md. At most twenty minutes.
faults: .venv/.ready
	$(BIN)/python -m faults

# The same document's part about load. locust has packages of its own, apart from those of the project.
load: .venv/.ready .venv-load/.ready
	$(BIN)/python -m faults load

.venv-load/.ready: faults/requirements-load.txt
	$(PYTHON) -m venv .venv-load
	$(BIN)/uv pip sync --quiet --system-certs --python .venv-load/bin/python --require-hashes faults/requirements-load.txt
	@touch $@

# A hundred and fifty thousand bad requests, files and command lines, counted; `make test-all` tries the first few thousand of them.
fuzz: .venv/.ready
	FAIRWISE_FUZZ=38 $(BIN)/pytest -n 2 tests/security -k fuzz

# Every defence of docs/threat_model.md is switched off in a copy of the code, and its test must fail.
defences: .venv/.ready
	$(BIN)/python tests/security/defences.py

# Every field, header and kind of file gets ten thousand bytes of the worst, then a million: time per byte must not grow.
work-per-byte: .venv/.ready
	PYTHONPATH=. $(BIN)/python -m tests.security.work_per_byte

sbom: .venv/.ready
	$(BIN)/python scripts/bill_of_materials.py docs/sbom.json docs/licences.md

# Known holes in the packages that Fairwise runs with; asks a database of them, and so needs the network.
audit-dependencies: .venv/.ready
	$(BIN)/uv tool run --system-certs pip-audit --require-hashes --disable-pip --requirement requirements.lock

# Set up once: the locked packages, then this project, then its compiled loops into numba's cache.
.venv/.installed: requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip sync --quiet --system-certs --python $(BIN)/python --compile-bytecode --require-hashes requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.ready: .venv/.installed
	$(BIN)/python -m fairwise.learning.compile
	@touch $@

# The same versions, by their hashes.
$(OTHER)/.ready: requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv --clear $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(OTHER)/bin/uv pip install --quiet --system-certs --python $(OTHER)/bin/python --only-binary :all: \
	    --constraint requirements-dev.lock --requirement pyproject.toml --extra dev --extra all
	$(OTHER)/bin/uv pip install --quiet --python $(OTHER)/bin/python --no-deps --no-build-isolation --editable .
	$(OTHER)/bin/python -m fairwise.learning.compile
	@touch $@

# Resolve the versions anew. Hashes are kept, addresses are not.
lock: .venv/.installed
	$(BIN)/uv pip compile --quiet --system-certs --universal --generate-hashes --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate --python-version 3.11 --extra study --extra scale \
	    pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --system-certs --universal --generate-hashes --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate --python-version 3.11 --extra dev --extra all \
	    --constraint requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache docs/_build docs/gallery dist
