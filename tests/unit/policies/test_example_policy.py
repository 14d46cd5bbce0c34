"""The page about adding a policy is true: its code is the example's, and both run."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headgate.control.deliberation import deliberate
from headgate.core.ports import Policy
from headgate.grammar import parse_spec, spell
from headgate.guards import Bounds
from headgate.testing import evaluation, knowledge

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "my_policy.py"
PAGE = (ROOT / "docs" / "adding-a-policy.md").read_text()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("my_policy", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "my_policy", module)
    spec.loader.exec_module(module)
    return module


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_shows_the_example_as_it_is() -> None:
    assert code_blocks()[0] == EXAMPLE.read_text()


@pytest.mark.usefixtures("example")
def test_the_test_on_the_page_passes() -> None:
    names: dict[str, object] = {}
    exec(code_blocks()[1], names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        assert callable(test)
        test()


def test_the_example_decides_through_guards_like_any_other(example: ModuleType) -> None:
    policy = parse_spec("my-policy:capacity=2k,headroom=0.1,period=1m", {"my-policy": example.MyPolicy}, kind="policy")
    assert isinstance(policy, Policy)
    assert spell(policy) == "my-policy:capacity=2000,headroom=0.1,period_s=60"
    decision = deliberate(
        evaluation=evaluation(arrival_rate=40_000.0),
        knowledge=knowledge(executors=3, bounds=(1, 12)),
        policy=policy,
        guards=(Bounds(),),
    ).decision
    assert (decision.wanted.executors, decision.granted.executors) == (23, 12)
    assert [reason.by for reason in decision.reasons] == ["my-policy", "bounds"]


def test_the_example_names_what_it_misses(example: ModuleType) -> None:
    proposal = example.MyPolicy().decide(evaluation(), knowledge(executors=3))
    assert proposal.allocation.executors == 3
    assert "operators.arrival_rate" in proposal.reasons[0].message
