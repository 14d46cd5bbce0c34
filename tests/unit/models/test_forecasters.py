"""Forecasts worked out by hand, and what all forecasters have in common."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import UserMistake
from headgate.models.forecasting import Forecast, Forecaster, HoltSmoothing, SeasonalNaive, StraightLine, Tendency, wape
from headgate.models.forecasting.arima import Arima, learn
from headgate.models.forecasting.forecast import SPREAD

EVERY: list[Forecaster] = [
    StraightLine(),
    SeasonalNaive(period_s=10),
    HoltSmoothing(),
    Arima(ar=(0.5, 0.2), ma=(0.3,), differences=1, variance=4.0),
    Arima(ar=(0.6,), mean=50.0, variance=1.0),
    Arima(ma=(-1.8, 0.85), differences=2, variance=9.0),
]
every_forecaster = pytest.mark.parametrize("forecaster", EVERY, ids=repr)


@every_forecaster
@given(history=st.lists(st.floats(0, 1e6), max_size=50), horizon=st.integers(1, 60))
def test_a_forecast_has_its_horizon_and_an_interval_around_it_and_nothing_below_nothing(
    forecaster: Forecaster, history: list[float], horizon: int
) -> None:
    made = forecaster.forecast(np.array(history), horizon)
    assert made.mean.size == made.lower.size == made.upper.size == horizon
    assert np.all(made.lower <= made.mean + 1e-6)
    assert np.all(made.mean <= made.upper + 1e-6)
    assert np.all(made.lower >= 0)
    assert np.all(np.isfinite(made.upper))


@pytest.mark.parametrize("forecaster", [each for each in EVERY if getattr(each, "mean", 0.0) == 0.0], ids=repr)
def test_what_never_changes_goes_on(forecaster: Forecaster) -> None:
    made = forecaster.forecast(np.full(100, 80.0), 30)
    assert made.mean == pytest.approx(np.full(30, 80.0))


@every_forecaster
def test_the_further_away_the_less_is_known(forecaster: Forecaster) -> None:
    noise = np.random.default_rng(1).normal(0, 5, 300)
    made = forecaster.forecast(100 + noise, 60)
    width = made.upper - made.lower
    assert np.all(np.diff(width) >= -1e-9)
    assert width[0] > 0


def test_the_line_of_the_latest_seconds_is_prolonged() -> None:
    """1, 3, 5 a second: 7, 9, … The line fits, so the interval has no width."""
    made = StraightLine(through_s=3).forecast(np.array([100.0, 1.0, 3.0, 5.0]), 3)
    assert made.mean == pytest.approx([7.0, 9.0, 11.0])
    assert made.upper == pytest.approx(made.mean)


def test_a_line_that_falls_ends_at_nothing() -> None:
    assert StraightLine().forecast(np.array([30.0, 20.0, 10.0]), 3).mean.tolist() == [0.0, 0.0, 0.0]


def test_the_lines_interval_is_that_of_the_textbook() -> None:
    """Residuals of 0, 2, 1, 3 around 0.3 + 0.8 t: −0.3, 0.9, −0.9, 0.3; s² = 1.8 ÷ 2; at t = 4: 1 + 1/4 + 6.25/5."""
    made = StraightLine().forecast(np.array([0.0, 2.0, 1.0, 3.0]), 1)
    assert made.mean == pytest.approx([3.5])
    assert made.upper - made.mean == pytest.approx([SPREAD * math.sqrt(0.9 * 2.5)])


def test_a_season_is_repeated_with_the_error_that_it_had() -> None:
    """The second season was off by 1, −1 and 0."""
    made = SeasonalNaive(period_s=3).forecast(np.array([1.0, 6.0, 2.0, 2.0, 5.0, 2.0]), 4)
    assert made.mean.tolist() == [2.0, 5.0, 2.0, 2.0]
    deviation = math.sqrt(2 / 3)
    assert made.upper - made.mean == pytest.approx(SPREAD * deviation * np.sqrt([1, 1, 1, 2]))


def test_smoothing_with_a_damped_trend_by_hand() -> None:
    """Level 10, trend 0; then 20: level 15, trend 0.5 · 5 = 2.5. Ahead: 15 + 0.5 · 2.5, and + 0.25 · 2.5 more."""
    made = HoltSmoothing(level=0.5, trend=0.5, damping=0.5).forecast(np.array([10.0, 20.0]), 2)
    assert made.mean == pytest.approx([16.25, 16.875])


def test_arima_with_a_moving_average_by_hand() -> None:
    """Differences 2, 3; surprises 2 and 3 − 0.5 · 2 = 2; the next difference is 0.5 · 2, then none."""
    made = Arima(ma=(0.5,), differences=1, variance=1.0).forecast(np.array([10.0, 12.0, 15.0]), 2)
    assert made.mean == pytest.approx([16.0, 16.0])
    # Of a surprise, all is in the next rate and 1.5 of it in the one after.
    assert made.upper - made.mean == pytest.approx(SPREAD * np.sqrt([1.0, 1.0 + 1.5**2]))


def test_arima_with_a_drift_by_hand() -> None:
    made = Arima(ar=(0.5,), differences=1, mean=2.0).forecast(np.array([10.0, 16.0]), 2)
    assert made.mean == pytest.approx([16 + 2 + 2.0, 20 + 2 + 1.0])


def test_level_and_drift_are_those_of_all_that_has_come() -> None:
    """Trained while it rose by 5 a second; then it stayed where it was for nine times as long."""
    rates = np.concatenate([np.arange(0.0, 600.0, 5.0), np.full(1080, 600.0)])
    seen = Tendency.of(rates, window_s=60)
    # The first minute is 147.5 on average and the last one 600; between their middles lie 19 minutes.
    assert (seen.windows, seen.drift) == (20, pytest.approx((600 - 147.5) / (19 * 60)))
    assert seen.level == pytest.approx(rates.mean())
    drifting = Arima(differences=1, mean=5.0)
    assert drifting.forecast(rates, 2).mean.tolist() == [605.0, 610.0]
    assert drifting.following(seen).forecast(rates, 2).mean == pytest.approx([600.397, 600.794], abs=1e-3)
    assert Arima(ar=(0.5,), mean=100.0).following(seen).mean == seen.level


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        (Arima(ar=(0.5,), differences=2), 900),
        (Arima(ar=(0.5,), differences=1), 900),
        (Arima(differences=1, mean=5), 60),
    ],
    ids=["differenced twice", "without drift", "one window only"],
)
def test_a_model_without_drift_gets_none_and_a_single_window_has_none(model: Arima, rates: int) -> None:
    assert model.following(Tendency.of(np.arange(float(rates)))) == model


def test_a_tendency_comes_back_from_json_and_ignores_clocks_that_go_backwards() -> None:
    seen = Tendency.of(np.arange(300.0))
    seen.learn(120.0, np.full(60, 1e9))
    seen.learn(math.nan, np.full(60, 1e9))
    assert seen == Tendency.of(np.arange(300.0))
    assert Tendency.restored(json.loads(json.dumps(seen.state))) == seen
    for nonsense in (None, "state", [1, 2], [math.nan] * 6, ["x"] * 6, [-1.0] * 6):
        assert Tendency.restored(nonsense) == Tendency()


def test_a_learned_model_forecasts_as_the_library_that_found_it() -> None:
    from statsforecast.models import AutoARIMA

    from headgate.models.forecasting.arima import read_fitted

    random = np.random.default_rng(7)
    rates = 1000 + np.cumsum(random.normal(0, 5, 1200)) + random.normal(0, 3, 1200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = AutoARIMA(season_length=1, approximation=True).fit(rates[:900])
        theirs = library.forward(y=rates[300:], h=300, level=[80])
    ours = read_fitted(library.model_).forecast(rates[300:], 300)
    assert ours.mean == pytest.approx(np.asarray(theirs["mean"]), rel=1e-3)
    assert ours.upper == pytest.approx(np.asarray(theirs["hi-80"]), rel=1e-2)


def test_a_model_is_learned_and_comes_back_from_json() -> None:
    rates = 500 + 100 * np.sin(np.arange(600) / 60) + np.random.default_rng(3).normal(0, 2, 600)
    model = learn(rates)
    assert Arima.restored(json.loads(json.dumps(model.state))) == model
    truth = 500 + 100 * np.sin(np.arange(600, 660) / 60)
    error = wape(truth, model.forecast(rates, 60).mean)
    assert error is not None
    assert error < 0.1


def test_what_never_changed_needs_no_library_to_be_learned() -> None:
    assert learn(np.full(60, 7.0)).forecast(np.full(60, 7.0), 3).mean.tolist() == [7.0, 7.0, 7.0]


def test_too_little_is_said_to_be_too_little() -> None:
    with pytest.raises(UserMistake, match="too few to learn from"):
        learn([1.0] * 29)


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"ar": [1], "ma": [], "differences": 0, "mean": "x", "variance": 1},
        {"ar": [math.nan], "ma": [], "differences": 0, "mean": 0, "variance": 1},
        {"ar": [], "ma": [], "differences": 9, "mean": 0, "variance": 1},
        {"ar": [0.1] * 50, "ma": [], "differences": 0, "mean": 0, "variance": 1},
        {"ar": [], "ma": [], "differences": 0, "mean": 0, "variance": -1},
    ],
)
def test_what_is_no_model_is_not_taken_for_one(state: object) -> None:
    assert Arima.restored(state) is None


def test_errors_weigh_by_what_really_came() -> None:
    assert wape([100.0, 300.0], [90.0, 330.0]) == pytest.approx(40 / 400)
    assert wape([100.0, 300.0], [100.0]) == 0.0
    assert wape([], [1.0]) is None
    assert wape([0.0, 0.0], [0.0, 0.0]) == 0.0
    assert wape([0.0], [1.0]) == math.inf


def test_the_peak_until_a_moment_includes_the_second_that_it_is_in() -> None:
    made = Forecast.around([1.0, 9.0, 2.0], 0.0)
    assert [made.peak(until_s) for until_s in (0.0, 1.0, 1.1, 3.0, math.inf)] == [0.0, 1.0, 9.0, 9.0, 9.0]
