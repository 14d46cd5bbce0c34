from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Levers, Outcome, Reason, Tick
from headgate.core.status import Status
from headgate.report.tables import comparison_table, options_table, policies_table, result_table, status_panel

RESULT: dict[str, Any] = {
    "policy": "hpa:target=0.8",
    "workload": "sine",
    "duration_s": 3600,
    "records": {"in": 2_880_000, "out": 2_879_000},
    "executors": {"mean": 2.4, "min": 1, "max": 4},
    "rescalings": 5,
    "latency_s": {"mean": 1.2, "p95": 3.1},
    "slo": {"latency_s": 5, "violation_share": 0.01},
}


def shown(renderable: RenderableType, *, width: int = 160) -> str:
    out = StringIO()
    Console(file=out, width=width).print(renderable)
    return out.getvalue().replace("\u202f", " ")


def marked(renderable: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=160, force_terminal=True, color_system="standard").print(renderable)
    return out.getvalue()


def status(**changes: Any) -> Status:
    values: dict[str, Any] = {
        "app": "orders",
        "policy": "hpa",
        "time_s": 100.0,
        "started_s": 0.0,
        "epoch": 1,
        "bounds": Bounds(1, 6),
    }
    return Status(**(values | changes))


def tick(*, current: int, wanted: int, granted: int, message: str) -> Tick:
    return Tick(
        index=3,
        time_s=90.0,
        epoch=1,
        outcome=Outcome.APPLIED,
        evaluation=None,
        decision=Decision(
            time_s=90.0,
            current=Allocation(executors=current),
            wanted=Allocation(executors=wanted),
            granted=Allocation(executors=granted),
            reasons=(Reason(by="hpa", code="scale-out", message=message),),
        ),
    )


def test_a_result_is_shown_with_the_units_people_use() -> None:
    text = shown(result_table(RESULT))

    assert "hpa:target=0.8 · sine" in text
    assert "2.88 M" in text
    assert "3.1 s" in text
    assert "1 h" in text


def test_figures_that_a_result_does_not_know_are_left_out() -> None:
    assert "p99" not in shown(result_table(RESULT))


def test_the_best_value_of_a_column_is_marked() -> None:
    slower = RESULT | {"latency_s": {"mean": 2.0, "p95": 9.0}}

    text = marked(comparison_table([RESULT, slower]))

    assert "\x1b[1;32m3.1 s\x1b[0m" in text
    assert "\x1b[1;32m9 s" not in text


def test_results_of_different_workloads_are_judged_apart() -> None:
    other = RESULT | {"workload": "spike", "latency_s": {"mean": 2.0, "p95": 9.0}}

    text = marked(comparison_table([RESULT, other, RESULT | {"policy": "static"}]))

    assert text.index("spike") > text.index("static")
    assert "\x1b[1;32m" not in text


def test_brackets_in_names_are_not_read_as_markup() -> None:
    assert "[bold]x" in shown(comparison_table([RESULT, RESULT], labels=["[bold]x", "y"]))
    assert "[red]" in shown(policies_table([{"name": "p", "about": "[red]"}]))


def test_rows_with_different_keys_share_one_table() -> None:
    text = shown(options_table([{"option": "target", "default": 0.8}, {"option": "mode", "choices": ("a", "b")}]))

    assert "target" in text
    assert "a, b" in text
    assert "–" in text


def test_a_status_that_knows_nothing_yet_is_shown_with_dashes() -> None:
    text = shown(status_panel(status()))

    assert "none yet" in text
    assert "–" in text
    assert "within 1..6" in text


def test_a_status_tells_the_last_decision_and_why() -> None:
    panel = status_panel(
        status(
            last_tick=tick(current=2, wanted=9, granted=6, message="mean busy 0.93 over target 0.8"),
            target=Allocation(executors=6),
            observed=Allocation(executors=2),
            pending_executors=4,
        )
    )

    text = shown(panel)

    assert "2 → 6 (policy wanted 9)" in text
    assert "hpa: mean busy 0.93 over target 0.8" in text
    assert "2→6 (4 arriving)" in text


def test_a_status_tells_what_a_person_has_set_and_what_is_wrong() -> None:
    text = shown(status_panel(status(levers=Levers(paused=True, pinned=3), problem="the agent does not answer")))

    assert "pinned to 3" in text
    assert "paused" in text
    assert "the agent does not answer" in text
