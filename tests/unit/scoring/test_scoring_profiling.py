"""What a profiling run shows, on runs written by hand."""

from __future__ import annotations

import pytest
from recorded_runs import steady_run

from headgate.scoring.profiling import failure_point, load_point
from headgate.scoring.run import RunSeries

RUN = RunSeries.from_journal(steady_run())
"""Ten records a second for 20 s, in batches that end after 7, 12 and 17 s."""


def test_a_load_is_what_came_while_it_was_looked_at() -> None:
    """Nobody looked at arrivals after 20 s; that none came after it would be wrong."""
    for until_s in (15.0, 20.0, 24.0):
        found = load_point(RUN, since_s=5.0, until_s=until_s)
        assert found is not None
        assert found.rate == pytest.approx(10.0)


def test_latency_is_that_of_the_records_that_came_and_were_finished_meanwhile() -> None:
    found = load_point(RUN, since_s=5.0, until_s=20.0)
    assert found is not None
    assert found.latency_s == pytest.approx(4.5)
    assert load_point(RUN, since_s=16.0, until_s=20.0) is None


def test_a_failure_in_the_middle_of_a_batch_costs_what_the_batch_is_late() -> None:
    """Every 5 s a batch ends; after a kill at 13 s the next one does so after 4 s, as it would have."""
    found = failure_point(RUN, since_s=5.0, killed_s=13.0, until_s=20.0)
    assert (found.rate, found.downtime_s) == (pytest.approx(10.0), 0.0)
    assert failure_point(RUN, since_s=5.0, killed_s=17.5, until_s=20.0).downtime_s == pytest.approx(2.5)


def test_a_load_of_which_nothing_was_seen_is_none() -> None:
    assert failure_point(RUN, since_s=21.0, killed_s=23.0, until_s=24.0).rate == 0.0
