"""``headgate measure``: what it answers, to people and to machines, on an app whose capacity is known."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import measure
from headgate.scoring.backlogs import Drain
from headgate.scoring.holds import OperatorCourse, Step, StepOutcome
from headgate.wiring.measurement import GoOn

APP = """
name = "rides"
[cluster]
quota = 0.5
[[operators]]
name = "nearest"
function = "headgate.pipelines.taxi:taxi"
reads = ["rides"]
sink = {}
[[producers]]
topic = "rides"
records = "rides"
workload = "constant:rate=100"
"""


class KnownBench:
    """An app that can do a thousand records a second on each executor, and less on the fourth."""

    def __init__(
        self,
        *,
        interrupt_at: int | None = None,
        hiccup_at: int | None = None,
        capacity: float = 1000.0,
        can_send: float = 1e12,
    ) -> None:
        self._interrupt_at = interrupt_at
        self._hiccup_at = hiccup_at
        self._capacity = capacity
        self._can_send = can_send
        self._stop = threading.Event()
        self._executors = 0
        self.rates: list[float] = []
        self.longer_s: list[float] = []
        self.closed = False

    def heed(self, stop: threading.Event) -> None:
        self._stop = stop

    def resize(self, executors: int) -> None:
        self._executors = executors

    def settle(self) -> None:
        assert self._executors

    def drain(self, records: int) -> Drain:
        return Drain(records=records, seconds=records / self._limit)

    def hold(self, rate: float, hold_s: float, go_on: GoOn) -> Step:
        if len(self.rates) == self._interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
            assert self._stop.wait(10)
            raise KeyboardInterrupt
        self.rates.append(rate)
        step = self._step(rate, hold_s, hiccup=len(self.rates) - 1 == self._hiccup_at)
        while (longer_s := go_on(step)) is not None:
            self.longer_s.append(longer_s)
            step = self._step(rate, longer_s)
        return step

    def _step(self, rate: float, hold_s: float, *, hiccup: bool = False) -> Step:
        sent = min(rate, self._can_send)
        grew = sent > self._limit or hiccup
        course = OperatorCourse(
            name="nearest",
            growing=grew,
            lag_slope=0.5 if sent > self._limit else 0.1 if hiccup else 0.0,
            lag_records=10.0,
            batch_s=0.8,
            longest_batch_s=1.1,
            busy=0.9,
        )
        short = StepOutcome.PRODUCER_SHORT if sent < rate else StepOutcome.SUSTAINED
        outcome = StepOutcome.LAG_GREW if grew else short
        return Step(asked_rate=rate, achieved_rate=sent, held_s=hold_s, outcome=outcome, operators=(course,))

    @property
    def _limit(self) -> float:
        return self._capacity * min(self._executors, 3)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "rides.toml"
    path.write_text(APP)
    return path


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[KnownBench], KnownBench]:
    """Measure on this instead of a real cluster."""

    def put(bench: KnownBench) -> KnownBench:
        @contextmanager
        def opened(*_: object, **__: object) -> Iterator[KnownBench]:
            try:
                yield bench
            finally:
                bench.closed = True

        monkeypatch.setattr(measure, "real_bench", opened)
        return bench

    return put


def test_machines_get_one_document(headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench]) -> None:
    bench = on(KnownBench())

    answer = headgate("measure", app, "--executors", "1,2,4", "--json", "--quota", "0.25", "--hold", "5s")

    assert answer.code == 0
    document = answer.document
    assert (document["app"], document["quota"], document["hold_s"]) == ("rides", 0.25, 5.0)
    assert document["complete"]
    assert [row["executors"] for row in document["sizes"]] == [1, 2, 4]
    for row, capacity in zip(document["sizes"], (1000, 2000, 3000), strict=True):
        assert 0.9 * capacity <= row["rate"] <= capacity <= row["not_sustained_rate"]
        assert row["gave_in"] == "nearest"
    assert document["sizes"][2]["efficiency"] == pytest.approx(0.75, rel=0.1)
    largest_first = reversed(document["sizes"])
    assert [step["asked_rate"] for row in largest_first for step in row["steps"]] == bench.rates
    assert bench.closed


def test_people_get_a_table_and_progress_beside_it(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench]
) -> None:
    on(KnownBench())

    answer = headgate("measure", app, "-e", "1,2")

    assert answer.code == 0
    for word in ("rides: greatest sustainable rate", "records/s", "ciency", "100 %", "nearest", "800 ms"):
        assert word in answer.out
    assert max(len(line.rstrip()) for line in answer.out.splitlines()) <= 80
    assert "1 executor: " in answer.err
    assert "sustained; lag slope" in answer.err
    assert "the lag of 'nearest' grew" in answer.err


def test_the_page_has_figure_sizes_and_steps(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench], tmp_path: Path
) -> None:
    bench = on(KnownBench())
    page = tmp_path / "rides.html"

    answer = headgate("measure", app, "-e", "1,2,4", "-o", page, "--quiet")

    assert answer.code == 0
    assert answer.err == ""
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert 'data-x="plain"' in text
    assert 'data-label="sustained"' in text
    assert 'data-label="linear"' in text
    assert "of linear on the largest size" in text
    assert text.count("<tr>") == 2 + 3 + len(bench.rates)


def test_a_hiccup_is_not_taken_for_the_limit(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench]
) -> None:
    calm, disturbed = on(KnownBench()), KnownBench(hiccup_at=0)
    expected = json.loads(headgate("measure", str(app), "--executors", "1", "--json").out)["sizes"][0]["rate"]
    on(disturbed)
    answer = headgate("measure", str(app), "--executors", "1", "--json")
    assert json.loads(answer.out)["sizes"][0]["rate"] == expected
    assert disturbed.rates == calm.rates
    assert disturbed.longer_s == [24.0]
    assert "so it is held for 24 s" in " ".join(answer.err.split())


def test_an_interrupt_prints_what_was_found_and_ends_with_130(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench], tmp_path: Path
) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    bench = on(KnownBench(interrupt_at=2))
    page = tmp_path / "found.html"

    answer = headgate("measure", app, "-e", "1,2,4", "--json", "-o", page)

    assert answer.code == 130
    assert not answer.document["complete"]
    (row,) = answer.document["sizes"]
    assert (row["executors"], row["finished"], len(row["steps"])) == (4, False, 2)
    assert row["rate"] == max(bench.rates)
    assert "interrupted" in page.read_text()
    assert bench.closed
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_an_interrupt_before_the_first_rate_says_that_nothing_is_known(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench], tmp_path: Path
) -> None:
    on(KnownBench(interrupt_at=0))
    page = tmp_path / "nothing.html"

    answer = headgate("measure", app, "-o", page)

    assert answer.code == 130
    assert answer.out == ""
    assert "before a rate had been held" in answer.err
    assert not page.exists()


def test_what_could_not_be_sent_is_said(headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench]) -> None:
    on(KnownBench(can_send=800.0))

    answer = headgate("measure", app, "-e", "1", "--start-rate", "750", "--json")

    assert answer.code == 0
    (row,) = answer.document["sizes"]
    assert (row["rate"], row["at_least"], row["not_sustained_rate"]) == (750.0, True, None)
    assert "inconclusive, because only 800 records/s could be sent" in " ".join(answer.err.split())
    assert any("could not be sent" in note for note in answer.document["notes"])


def test_no_sustained_rate_at_all_is_a_failure(
    headgate: Callable[..., Any], app: Path, on: Callable[..., KnownBench], tmp_path: Path
) -> None:
    on(KnownBench(capacity=0.001))
    page = tmp_path / "none.html"

    answer = headgate("measure", app, "-e", "1", "--start-rate", "1k", "-o", page)

    assert answer.code == 1
    assert "no rate that was tried was sustained" in answer.out.replace("\n", " ")
    assert "No rate that was tried was sustained" in page.read_text()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--executors", "1..4"), ("--executors 1..4", "as in 1,2,4")),
        (("--executors", "0,1"), ("from 1 to 64",)),
        (("--executors", "65"), ("from 1 to 64",)),
        (("--executors", ""), ("as in 1,2,4",)),
        (("--hold", "soon"), ("--hold", "not a duration")),
        (("--precision", "0"), ("--precision", "0.01")),
        (("--start-rate", "0"), ("--start-rate", "positive")),
        (("--most-rate", "-5"), ("--most-rate", "positive")),
        (("-o", "no/such/folder/x.html"), ("folder does not exist",)),
    ],
)
def test_a_mistake_is_one_sentence_with_a_remedy(
    headgate: Callable[..., Any], app: Path, args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    answer = headgate("measure", app, *args)

    assert answer.code == 2
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) == 1
    for word in words:
        assert word in answer.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 'x'\n[stream]\nworkload = 'sine'", ("no [[operators]]", "one producer")),
        (APP.split("[[producers]]")[0] + "[[topics]]\nname = 'rides'", ("0 [[producers]]",)),
    ],
)
def test_an_app_without_records_of_one_kind_cannot_be_measured(
    headgate: Callable[..., Any], tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "app.toml"
    path.write_text(text)

    answer = headgate("measure", path)

    assert answer.code == 2
    assert len(answer.err.strip().splitlines()) == 1
    for word in words:
        assert word in answer.err


def test_an_unknown_example_is_named(headgate: Callable[..., Any]) -> None:
    answer = headgate("measure", "no_such_example")

    assert answer.code == 2
    assert "there is no example 'no_such_example'" in answer.err
