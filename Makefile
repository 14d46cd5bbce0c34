# Everything a newcomer needs; each target sets up what it needs and starts at once the second time.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGES := core models policies guards control journal scoring

.PHONY: demo test check bench soak clean

demo: $(READY)
	@$(BIN)/headgate demo

test: $(READY)
	@$(MAKE) --no-print-directory check
	@$(BIN)/pytest -m "not soak" --cov --cov-report=
	@$(BIN)/coverage report --fail-under=90 $(foreach p,$(PACKAGES),--include='src/headgate/$(p)/*')

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
