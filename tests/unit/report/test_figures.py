from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.report.axes import log_scale, time_scale, value_scale
from headgate.report.figure import Band, Figure, Line, Rule, render
from headgate.report.reduction import MOST_POINTS, changes_only, envelope, reduce_points


def figure(*lines: Line, bands: tuple[Band, ...] = (), rules: tuple[Rule, ...] = ()) -> str:
    return render(
        Figure(
            title="t",
            about="a",
            x=time_scale(100.0),
            y=value_scale(10.0, title="y"),
            unit="/s",
            lines=lines,
            bands=bands,
            rules=rules,
            legend=False,
        )
    )


def drawn(text: str, kind: str) -> str:
    found = re.search(rf'<path class="{kind}[^"]*"(?: data-label="[^"]*")? d="([^"]*)"', text)
    return found.group(1) if found else ""


@given(st.integers(min_value=0, max_value=20_000), st.integers(min_value=0, max_value=2**32 - 1))
def test_reduction_keeps_both_ends_and_both_extremes(count: int, seed: int) -> None:
    times = np.arange(count, dtype=np.float64)
    values = np.random.default_rng(seed).normal(size=count)

    kept_times, kept = reduce_points(times, values)

    assert len(kept) <= MOST_POINTS
    assert np.all(np.diff(kept_times) > 0)
    if count:
        assert (kept.min(), kept.max()) == (values.min(), values.max())
        assert (kept_times[0], kept_times[-1]) == (times[0], times[-1])


def test_reduction_keeps_gaps_as_gaps() -> None:
    values = np.ones(10_000)
    values[5_000:6_000] = np.nan

    _, kept = reduce_points(np.arange(10_000.0), values)

    assert np.isnan(kept).any()


def test_an_envelope_knows_nothing_where_nothing_is_known() -> None:
    values = np.ones(1000)
    values[500:600] = np.nan

    calm = envelope(np.arange(1000.0), values, columns=10)

    assert np.isnan(calm.mean).tolist() == [False] * 5 + [True] + [False] * 4


def test_a_step_line_needs_only_its_changes() -> None:
    times, values = changes_only(np.arange(1000.0), np.repeat([1.0, 2.0], 500))

    assert times.tolist() == [0.0, 500.0, 999.0]
    assert values.tolist() == [1.0, 2.0, 2.0]


def test_a_line_has_a_gap_where_the_value_is_unknown() -> None:
    line = Line(
        label="l", times=np.array([0.0, 25.0, 50.0, 100.0]), values=np.array([0.0, 5.0, np.nan, 10.0]), colour="work"
    )

    assert drawn(figure(line), "line") == "M0 1000L250 500M1000 0H1000"


def test_a_step_holds_its_value_until_the_next() -> None:
    line = Line(label="l", times=np.array([0.0, 50.0]), values=np.array([10.0, 5.0]), colour="there", step=True)

    assert drawn(figure(line), "line") == "M0 0H500V500"


def test_a_band_is_drawn_only_where_the_upper_edge_is_higher() -> None:
    times = np.array([0.0, 50.0, 100.0])
    band = Band(
        label="over", times=times, lower=np.array([5.0, 5.0, 5.0]), upper=np.array([10.0, 0.0, 0.0]), colour="over"
    )

    assert drawn(figure(bands=(band,)), "band") == "M0 0H500V500H0Z"


def test_an_objective_beyond_the_figure_is_left_out() -> None:
    assert "near" in figure(rules=(Rule(label="near", value=9.0),))
    assert "far" not in figure(rules=(Rule(label="far", value=99.0),))


@given(st.floats(min_value=0, max_value=1e15, allow_subnormal=False), st.booleans())
def test_a_value_scale_reaches_the_highest_value_with_few_marks(highest: float, whole: bool) -> None:
    scale = value_scale(highest, title="y", whole=whole)

    assert scale.high >= highest
    assert 2 <= len(scale.marks) <= 7
    assert 0 <= scale.place(highest) <= 1


@pytest.mark.parametrize("span_s", [0.0, 1.0, 59.0, 600.0, 3601.0, 86_400.0, 30 * 86_400.0, 400 * 86_400.0])
def test_a_time_scale_never_has_more_marks_than_fit(span_s: float) -> None:
    scale = time_scale(span_s)

    assert 2 <= len(scale.marks) <= 10
    assert all(0 <= mark.place <= 1 for mark in scale.marks)


def test_a_logarithmic_scale_takes_zero_for_its_lower_end() -> None:
    scale = log_scale(0.0, 0.0, title="latency")

    assert scale.place(0.0) == 0.0
    assert 0 <= scale.place(1.0) <= 1
