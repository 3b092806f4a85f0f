PYTHON ?= python3
BIN := .venv/bin
UV_VERSION := $(shell sed -n 's/^uv==\([0-9.]*\).*/\1/p' requirements-dev.lock)

.PHONY: demo test check bench lock clean

demo: .venv/.ready
	$(BIN)/fairwise demo

test: .venv/.ready
	$(BIN)/pytest -n 2

check: .venv/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.ready
	$(BIN)/python -m benchmarks

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

# Resolve the versions anew. Hashes are kept, addresses are not.
lock:
	$(BIN)/uv pip compile --quiet --system-certs --universal --generate-hashes --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate --python-version 3.11 pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --system-certs --universal --generate-hashes --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate --python-version 3.11 --extra dev --extra trees \
	    --constraint requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
