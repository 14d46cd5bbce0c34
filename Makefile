# Everything a newcomer needs; each target sets up what it needs and starts at once the second time.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COVERED := src/headgate/core/*,src/headgate/models/*,src/headgate/packing/*,src/headgate/policies/*,src/headgate/guards/*,src/headgate/control/*,src/headgate/journal/*,src/headgate/scoring/*

.PHONY: demo test check bench soak clean

demo: $(READY)
	@$(BIN)/headgate demo

# What needs no server runs on all processors; what needs one, two files at a time, whole apps first. A test process that
# is lost ends the run: pytest-xdist would start another one, and then wait for tests that nobody runs.
test: $(READY)
	@$(MAKE) --no-print-directory check
	@$(BIN)/pytest -n auto --dist loadfile --max-worker-restart=0 -m "not soak and not spark and not kafka" \
		--cov --cov-report=
	@$(BIN)/pytest -n 2 --dist loadfile --max-worker-restart=0 --no-loadscope-reorder \
		-m "not soak and (spark or kafka)" tests/e2e tests --cov --cov-append --cov-report= --durations=12
	@$(BIN)/coverage report --fail-under=90 --include='$(COVERED)'

check: $(READY)
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(READY)
	@$(BIN)/python -m benchmarks

soak: $(READY)
	@$(BIN)/pytest -m soak

$(READY): pyproject.toml scripts/setup
	@sh scripts/setup $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage out
