# Everything a newcomer needs; each target sets up what it needs and starts at once the second time.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COVERED := src/headgate/core/*,src/headgate/models/*,src/headgate/packing/*,src/headgate/policies/*,src/headgate/guards/*,src/headgate/control/*,src/headgate/journal/*,src/headgate/scoring/*

# What needs neither broker nor cluster runs on all processors; the rest shares one of each.
ALONE := src tests/unit tests/contract tests/simulation
TOGETHER := tests/kafka tests/spark tests/pipelines tests/e2e

.PHONY: demo test check bench soak clean

demo: $(READY)
	@$(BIN)/headgate demo

test: $(READY)
	@$(MAKE) --no-print-directory check
	@$(BIN)/pytest -n auto -m "not soak and not spark" --cov --cov-report= $(ALONE)
	@$(BIN)/pytest -m "not soak" --cov --cov-append --cov-report= --durations=30 --durations-min=5 $(TOGETHER)
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
