"""What a policy foresaw and took its executors to carry, on the page of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headgate.core.decision import Reason
from headgate.journal.memory import MemoryJournal
from headgate.report import ReportRun, write_report
from headgate.report.reckoning import Reckoned

RunMaker = Callable[..., MemoryJournal]
TITLE = "What the policy reckoned with"
FORECAST = Reason(by="daedalus", code="forecast-arima", message="foreseen", inputs={"peak": 1500.0})
CAPACITY = Reason(
    by="daedalus", code="capacity", message="carried", inputs={"rate": 1200.0, "low": 1100.0, "high": 1300.0}
)
ROUGH = Reason(by="daedalus", code="capacity", message="carried", inputs={"rate": 1200.0, "low": None, "high": None})


def page(journal: MemoryJournal, tmp_path: Path) -> str:
    path = tmp_path / "page.html"
    write_report([ReportRun(label="run", reader=journal)], path)
    return path.read_text(encoding="utf-8")


def test_it_is_read_from_the_reasons_of_each_tick_and_unknown_where_none_was_given(make_run: RunMaker) -> None:
    journal = make_run(duration_s=120, further=(FORECAST, CAPACITY), started_s=50.0)
    reckoned = Reckoned(50.0)
    assert len(list(reckoned.watching(journal.ticks()))) == 4
    found = reckoned.reckoning
    assert found.said
    assert found.times.tolist() == [30.0, 60.0, 90.0, 120.0]
    # Nothing was decided at the first of them.
    np.testing.assert_array_equal(found.foreseen, [np.nan, 1500.0, 1500.0, 1500.0])
    np.testing.assert_array_equal(found.capacity, [np.nan, 1200.0, 1200.0, 1200.0])
    np.testing.assert_array_equal(found.high - found.low, [np.nan, 200.0, 200.0, 200.0])


@pytest.mark.parametrize(
    ("reasons", "drawn", "missing"),
    [
        ((FORECAST, CAPACITY), ("most that was foreseen", "what the executors carry", "in 19 of 20 cases"), ()),
        ((ROUGH,), ("what the executors carry",), ("most that was foreseen", 'class="ribbon work"')),
        ((FORECAST,), ("most that was foreseen",), ("what the executors carry",)),
        ((), (), (TITLE,)),
    ],
    ids=["both", "a capacity without its ends", "a forecast alone", "neither"],
)
def test_the_page_draws_what_there_is(
    make_run: RunMaker, tmp_path: Path, reasons: tuple[Reason, ...], drawn: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    text = page(make_run(duration_s=300, further=reasons), tmp_path)
    assert (TITLE in text) == bool(reasons)
    for words in drawn:
        assert words in text
    legend = text.partition(TITLE)[2].partition("</figure>")[0].partition("</figcaption>")[0].partition("</p>")[2]
    for words in missing:
        assert words not in (text if words == TITLE else legend + text.partition("</figcaption>")[2])
