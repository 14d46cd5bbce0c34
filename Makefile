# Everything a newcomer needs; each target sets up what it needs and starts at once the second time.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COVERED := src/headgate/core/*,src/headgate/models/*,src/headgate/packing/*,src/headgate/policies/*,src/headgate/guards/*,src/headgate/control/*,src/headgate/journal/*,src/headgate/scoring/*

.PHONY: demo test check bench soak clean

demo: $(READY)
	@$(BIN)/headgate demo

# What needs no cluster runs on all processors; what needs one, two files at a time, whole apps first.
test: $(READY)
	@$(MAKE) --no-print-directory check
	@$(BIN)/pytest -n auto --dist loadfile -m "not soak and not spark" --cov --cov-report=
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not soak and spark" tests/e2e tests \
		--cov --cov-append --cov-report= --durations=12
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
