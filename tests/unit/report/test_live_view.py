from __future__ import annotations

from io import StringIO

from rich.console import Console

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Reason, Tick
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.sample import AgentEvent, EventKind
from headgate.core.status import Status
from headgate.errors import Temporary
from headgate.report.live import LiveView
from headgate.report.progress import progress


class FakeControls:
    """Answers with what it was given, one after the other; the last one for ever."""

    def __init__(self, *answers: Status | Exception) -> None:
        self.answers = list(answers)

    def status(self) -> Status:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def pin(self, executors: int) -> None: ...

    def unpin(self) -> None: ...


def at(time_s: float, *, executors: int = 2, wanted: int = 2, arriving: int = 0, events: int = 0) -> Status:
    reason = Reason(by="hpa", code="scale-out", message="mean busy 0.93 over target 0.8")
    return Status(
        app="orders",
        policy="hpa",
        time_s=time_s,
        started_s=0.0,
        epoch=1,
        bounds=Bounds(1, 6),
        target=Allocation(executors=wanted),
        observed=Allocation(executors=executors),
        pending_executors=arriving,
        now=Evaluation(
            time_s=time_s,
            operators=(
                OperatorEvaluation(
                    name="read",
                    arrival_rate=2310.0,
                    input_rate=2300.0,
                    lag_records=0.0,
                    latency_s=Spread(mean=1.2, p50=1.0, p95=2.0, p99=2.5, max=3.0),
                ),
            ),
            executors=tuple(ExecutorEvaluation(id=str(n), busy=0.9) for n in range(executors)),
            events=tuple(
                AgentEvent(time_s=float(n), kind=EventKind.LOST, message=f"executor {n} was lost")
                for n in range(events)
            ),
        ),
        last_tick=Tick(
            index=1,
            time_s=time_s,
            epoch=1,
            outcome=Outcome.APPLIED,
            evaluation=None,
            decision=Decision(
                time_s=time_s,
                current=Allocation(executors=executors),
                wanted=Allocation(executors=wanted),
                granted=Allocation(executors=wanted),
                reasons=(reason,),
            ),
        ),
    )


def bare(time_s: float) -> Status:
    return Status(app="orders", policy="hpa", time_s=time_s, started_s=0.0, epoch=1, bounds=Bounds(1, 6))


def plain(controls: FakeControls, *, refreshes: int) -> list[str]:
    out = StringIO()
    view = LiveView(controls, console=Console(file=out, width=40))
    for _ in range(refreshes):
        view.refresh()
    return out.getvalue().replace("\u202f", " ").splitlines()


def drawn(view: LiveView) -> str:
    out = StringIO()
    Console(file=out, width=100).print(view.panel())
    return out.getvalue().replace("\u202f", " ")


def test_a_change_of_size_is_one_plain_line_with_its_reason() -> None:
    lines = plain(FakeControls(at(5.0, wanted=3, arriving=1)), refreshes=1)

    assert lines == [
        "0:00:05 rate 2 310/s lag 0 latency 1.2 s executors 2→3 (1 arriving): hpa: mean busy 0.93 over target 0.8"
    ]


def test_nothing_new_is_said_only_now_and_then() -> None:
    lines = plain(FakeControls(at(0.0), at(1.0), at(2.0), at(10.0), at(11.0)), refreshes=5)

    assert [line.split()[0] for line in lines] == ["0:00:00", "0:00:10"]


def test_every_change_of_size_is_said_at_once() -> None:
    changes = FakeControls(
        at(0.0), at(1.0, wanted=3, arriving=1), at(2.0, wanted=3, arriving=1), at(3.0, executors=3, wanted=3)
    )

    lines = plain(changes, refreshes=4)

    assert [line.split()[0] for line in lines] == ["0:00:00", "0:00:01", "0:00:03"]


def test_a_silent_controller_is_said_once_and_waited_for() -> None:
    lost = Temporary("the controller does not answer; trying again")

    lines = plain(FakeControls(lost, lost, lost, at(9.0)), refreshes=4)

    assert len(lines) == 2
    assert lines[0] == "no status: the controller does not answer; trying again"
    assert lines[1].startswith("0:00:09 rate")


def test_a_status_without_figures_still_makes_a_line() -> None:
    assert plain(FakeControls(bare(3.0)), refreshes=1) == ["0:00:03 rate –/s lag – latency – executors –"]


def test_the_panel_shows_figures_size_and_why() -> None:
    view = LiveView(FakeControls(at(5.0, wanted=3, arriving=1)), console=Console(file=StringIO()), title="demo")
    view.observe()

    text = drawn(view)

    assert "demo · orders · hpa" in text
    assert "2 310/s" in text
    assert "■ ■ □ · · ·" in text
    assert "mean busy 0.93 over target 0.8" in text


def test_the_panel_shows_each_event_once_and_the_newest_few() -> None:
    view = LiveView(FakeControls(at(5.0, events=6)), console=Console(file=StringIO()))
    view.observe()
    view.observe()

    text = drawn(view)

    assert text.count("executor 5 was lost") == 1
    assert "executor 0 was lost" not in text


def test_the_panel_shows_how_far_a_run_of_known_length_is() -> None:
    view = LiveView(FakeControls(at(90.0)), console=Console(file=StringIO()), ends_at_s=180.0)
    view.observe()

    assert "0:01:30 of 0:03:00" in drawn(view)


def test_the_panel_keeps_the_last_figures_while_there_is_no_answer() -> None:
    view = LiveView(FakeControls(at(5.0), Temporary("no answer from the agent")), console=Console(file=StringIO()))
    view.observe()
    view.observe()

    text = drawn(view)

    assert "no answer from the agent" in text
    assert "2 310/s" in text


def test_the_panel_can_be_drawn_before_anything_is_known() -> None:
    view = LiveView(FakeControls(Temporary("not yet")), console=Console(file=StringIO()))

    assert "waiting for the first figures" in drawn(view)
    view.observe()
    assert "not yet" in drawn(view)
    nearly = LiveView(FakeControls(bare(0.0)), console=Console(file=StringIO()))
    nearly.observe()
    assert "none yet" in drawn(nearly)


def test_the_view_shows_at_least_one_status_however_short_the_block() -> None:
    out = StringIO()

    with LiveView(FakeControls(at(5.0)), console=Console(file=out, force_terminal=True, width=100), refresh_s=60.0):
        pass

    assert "orders" in out.getvalue()


def test_progress_is_silent_when_quiet_or_not_on_a_terminal() -> None:
    out = StringIO()

    with progress("simulating", 2, console=Console(file=out)) as advance:
        advance(1)
    with progress("simulating", 2, console=Console(file=out, force_terminal=True), quiet=True) as advance:
        advance(1)

    assert out.getvalue() == ""


def test_progress_names_the_work_on_a_terminal() -> None:
    out = StringIO()

    with progress("simulating [hpa]", 2, console=Console(file=out, force_terminal=True, width=100)) as advance:
        advance(2)

    assert "simulating [hpa]" in out.getvalue()
    assert "2/2" in out.getvalue()
