"""``headgate produce`` where no broker is needed: mistakes, moments, and the verdict at the end."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from headgate.cli import produce as command
from headgate.cli.production_view import production_view, summary
from headgate.errors import Permanent, UserMistake
from headgate.kafka.production import ProductionResult, ProductionStatus

RESULT = ProductionResult(
    topic="orders",
    total=1000,
    sent=1000,
    acknowledged=1000,
    failed=0,
    start_time_s=0.0,
    asked_per_s=100.0,
    achieved_per_s=99.5,
    ended_late_s=0.05,
    most_late_s=0.05,
)


class FakeProduction:
    """At a tenth of the asked rate."""

    total = 1000
    problem: Exception | None = None

    def __init__(self) -> None:
        self.looks = 0

    def status(self) -> ProductionStatus:
        self.looks += 1
        return ProductionStatus(
            asked=100 * self.looks,
            sent=10 * self.looks,
            acknowledged=10 * self.looks,
            failed=0,
            total=1000,
            late_s=3.0,
            trouble="Kafka is away",
        )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--records", "word"), "did you mean 'words'"),
        (("--records", "rows", "--keys", "zip"), "did you mean 'zipf'"),
        (("--records", "rows", "--workload", "sinus"), "unknown"),
        (("--records", "rows", "--processes", "0"), "from 1 to"),
        (("--records", "rows", "--start-at", "tomorrow"), "not a moment"),
        (("--records", "rows", "--start-at", "2001-01-01T00:00"), "in the past"),
    ],
)
def test_a_mistake_is_one_sentence(headgate: Callable[..., Any], args: tuple[str, ...], words: str) -> None:
    answer = headgate("produce", "--workload", "constant", "--topic", "t", "--bootstrap", "127.0.0.1:1", *args)
    assert answer.code == 2
    assert words in answer.err
    assert len(answer.err.splitlines()) == 1


def test_without_a_broker_it_says_how_to_get_one(headgate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.kafka.broker.status", lambda: None)
    answer = headgate("produce", "--workload", "constant", "--topic", "t", "--records", "rows")
    assert answer.code == 2
    assert "headgate broker up" in answer.err


def test_a_moment_can_be_written_in_three_ways() -> None:
    assert command.parse_moment("+90s", now_s=1000.0) == 1090.0
    assert command.parse_moment("2000.5", now_s=1000.0) == 2000.5
    assert command.parse_moment("1970-01-01T01:00:00+00:00", now_s=1000.0) == 3600.0
    with pytest.raises(UserMistake, match="in the past"):
        command.parse_moment("999", now_s=1000.0)


def test_too_slow_and_too_few_are_failures_with_a_sentence() -> None:
    production: Any = FakeProduction()
    command.judge(production, RESULT)
    slow = replace(RESULT, achieved_per_s=80.0, ended_late_s=2.5)
    with pytest.raises(Permanent, match=r"80 records/s instead of 100 records/s, and it ended 2\.5 s late"):
        command.judge(production, slow)
    production.problem = Permanent("3 records were refused for good: too large")
    with pytest.raises(Permanent, match=r"3 of 1000 records are not in topic 'orders': 3 records were refused"):
        command.judge(production, replace(RESULT, acknowledged=997))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_slow_production_is_not_silent(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100_000, 5))
    monkeypatch.setattr("headgate.cli.production_view.time.monotonic", lambda: float(next(clock)) / 5)
    shown = io.StringIO()
    production: Any = FakeProduction()
    console = Console(file=shown, force_terminal=terminal, width=200)
    with production_view(production, console=console, quiet=False) as look:
        for _ in range(20):
            look()
    assert "3.0 s late" in shown.getvalue()
    assert "Kafka is away" in shown.getvalue()


def test_quiet_is_quiet() -> None:
    shown = io.StringIO()
    production: Any = FakeProduction()
    with production_view(production, console=Console(file=shown, force_terminal=True), quiet=True) as look:
        look()
    assert shown.getvalue() == ""


def test_the_summary_tells_asked_and_achieved() -> None:
    shown = io.StringIO()
    Console(file=shown, width=100).print(summary(replace(RESULT, acknowledged=900)))
    for words in ("900, of 1000 of the workload", "100 records/s", "99.5 records/s"):
        assert words in shown.getvalue()
